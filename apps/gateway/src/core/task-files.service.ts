import {
  type ArtifactBody,
  type ArtifactRecord,
  type BlobStore,
  DomainError,
  isTerminal,
  type TaskSnapshot,
} from '#lib/domain';
import { draftEvent, type EventWriter } from '#lib/execution';
import { newArtifactId } from '#lib/platform';
import type { AgentDirectory } from './agent.directory.js';
import { auditOf, type Caller } from './caller.js';
import { checkFile } from './input.check.js';
import type { Quotas } from './quotas.js';
import { receivedBytes } from './received-bytes.js';
import type { TasksService } from './tasks.service.js';

/** A file on its way to a task. */
export interface GivenFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: AsyncIterable<Uint8Array>;
  /** What its sender says; absent: it does not. */
  readonly announcedBytes?: number | undefined;
  /** What is known when all of it is here. Rejects for what cannot be taken. */
  readonly rest: () => Promise<Pick<ArtifactBody, 'relative_path'>>;
  readonly requestId: string;
}

export interface TaskFilesPorts {
  readonly blobs: BlobStore;
  readonly writer: EventWriter;
  readonly quotas: Pick<Quotas, 'room'>;
  /** The largest file in bytes. */
  readonly maxUploadBytes: number;
}

/** Artifacts one task may come to have by being given files. */
const MAX_FILES = 1_000;

/** Gives files to tasks: runs that begin later get them as parts of their input, behind those that were submitted. */
export class TaskFilesService {
  constructor(
    private readonly tasks: Pick<TasksService, 'snapshot'>,
    private readonly agents: Pick<AgentDirectory, 'find'>,
    private readonly ports: TaskFilesPorts,
  ) {}

  /** The task, if it could be given a file now. @throws DomainError `not_found`, `gone`, `not_waiting`, `payload_too_large` */
  async expect(caller: Caller, taskId: string): Promise<TaskSnapshot> {
    const task = await this.tasks.snapshot(caller, taskId);
    if (isTerminal(task.state)) throw ended();
    if (task.artifactCount >= MAX_FILES) throw new DomainError('payload_too_large', 'The task has too many files.');
    return task;
  }

  /**
   * Streams to storage, then makes the file known in the log of the task, unless it has ended meanwhile.
   * @throws what `receivedBytes` does, or DomainError `unsupported_input`, `rate_limited`, `not_waiting`, `unavailable`
   */
  async give(caller: Caller, task: TaskSnapshot, file: GivenFile): Promise<ArtifactRecord> {
    const agent = this.agents.find(task.agentId);
    if (agent) checkFile(agent, file.mediaType);
    const settle = await this.ports.quotas.room(caller, file.announcedBytes ?? 0);
    let stored: ArtifactBody | undefined;
    try {
      stored = await this.store(caller, task, file);
      const { taskKey, tenant } = task;
      return { ...stored, taskKey, tenant, createdAtMs: await this.record(caller, task, { stored, file }) };
    } finally {
      settle(stored?.size ?? 0);
    }
  }

  private async store({ tenant }: Caller, _task: TaskSnapshot, file: GivenFile): Promise<ArtifactBody> {
    const limits = { maxBytes: this.ports.maxUploadBytes, mayBeEmpty: true };
    const blob = await this.ports.blobs.put(tenant, receivedBytes(file.content, limits));
    const { relative_path } = await file.rest();
    return {
      artifact_id: newArtifactId(),
      kind: 'input',
      name: file.name,
      media_type: file.mediaType,
      ...blob,
      ...(relative_path === undefined ? {} : { relative_path }),
    };
  }

  /** When it became known, in ms since the epoch. */
  private async record(
    caller: Caller,
    { taskKey, taskId }: TaskSnapshot,
    { stored, file }: { readonly stored: ArtifactBody; readonly file: GivenFile },
  ): Promise<number> {
    const { artifact_id, size, sha256 } = stored;
    const details = { artifact_id, size, sha256 };
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['queued', 'running', 'waiting_for_input'] },
      events: [draftEvent({ type: 'artifact.created', payload: { artifact: stored } })],
      audit: [auditOf(caller, { action: 'task.file', target: taskId, details, requestId: file.requestId })],
    });
    if (outcome.kind === 'stored') return outcome.appended.atMs;
    if (outcome.kind === 'fenced') throw ended();
    if (outcome.kind === 'refused') throw new Error('a file was refused', { cause: outcome.cause });
    throw new DomainError('unavailable', 'The file could not be given to the task now.', { retryAfterSeconds: 1 });
  }
}

function ended(): DomainError {
  return new DomainError('not_waiting', 'The task has ended and takes no more files.');
}
