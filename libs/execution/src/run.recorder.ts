import {
  type Appended,
  type ArtifactBody,
  type AuditEntry,
  type BlobReference,
  type BlobStore,
  type Claim,
  type Dispatch,
  type ErrorBody,
  type EventBody,
  type EventDraft,
  type Payload,
  type SessionEnd,
} from '#lib/domain';
import { checkRunnerEvent, checkValue, draftEvent, isKeptAt, OversizeError, ProtocolError } from './admission.js';
import { ArtifactKeeper, type ArtifactSource, type Kept } from './artifact.keeper.js';
import type { OpenConfirmation } from './confirmations.js';
import { DeltaGuard } from './delta.guard.js';
import type { EventWriter } from './event.writer.js';
import { draftFinalAnswer, type FinalAnswer } from './final-answer.js';
import { draftFittingPause, offloadEvent, splitDelta } from './oversize.js';
import { RunSteps } from './run-steps.js';
import { type FindSecretFields, SecretArguments } from './secret-arguments.js';
import { ToolInvocations } from './tool-invocations.js';
import { storeOutput, type StreamedOutput } from './tool-output.js';
import { RunCursor, type Write, type WriteOutcome } from './write-queue.js';

/** Writes of one run that may wait; a runner that is faster than the log is held back there. */
const MAX_WAITING = 1_000;
/** Bytes of JSON in one checkpoint. */
const CHECKPOINT_MAX_BYTES = 4 * 1_024 * 1_024;
/** Bytes of JSON that a session remembers. */
const CONVERSATION_MAX_BYTES = 1_024 * 1_024;

/** Files that one run may keep. */
const MAX_ARTIFACTS = 1_000;

export interface RecorderPorts {
  readonly writer: EventWriter;
  readonly blobs: BlobStore;
  /** Absent: no tool has any. */
  readonly secretFields?: FindSecretFields;
}

/** What the platform adds to an event of the runner. */
export interface Addition {
  /** Members of its payload. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Recorded in the statement that stores the event. */
  readonly audit?: readonly AuditEntry[];
}

const NOTHING: Addition = {};

/** What the log says back while a run goes on. */
export interface RecorderListener {
  stored(appended: Appended): void;
  /** The task is about to be ended though its run was to go on; awaited. */
  ending(): Promise<void>;
  /** Nothing of this run is stored from here on; told once. */
  failed(outcome: Exclude<WriteOutcome, { kind: 'stored' }>): void;
}

/** Turns what one run does into appends. Calls must not overlap: a runner's items come one after the other. */
export class RunRecorder {
  private readonly invocations = new ToolInvocations();
  private saved: Promise<boolean> = Promise.resolve(true);
  private readonly cursor: RunCursor;
  private readonly steps: RunSteps;
  private readonly keeper: ArtifactKeeper;
  private readonly secrets: SecretArguments;
  private readonly deltas = new DeltaGuard();
  private readonly startedMessages = new Set<string>();
  /** Outputs that are stored, until their call is completed. */
  private readonly outputs = new Map<string, ArtifactBody>();
  private made = 0;
  /** The task has a saved workspace. */
  private hasSaved: boolean;
  private waiting = 0;
  private wake: (() => void) | undefined;
  private lastStored: Appended | undefined;
  private hasFailed = false;

  constructor(
    private readonly claim: Claim,
    private readonly ports: RecorderPorts,
    private readonly listener: RecorderListener,
  ) {
    this.cursor = new RunCursor(claim.runNo);
    this.steps = new RunSteps(claim.steps);
    this.hasSaved = claim.workspace !== null;
    this.secrets = new SecretArguments(claim, ports.secretFields);
    this.keeper = new ArtifactKeeper(ports.blobs, {
      tenant: claim.tenant,
      origin: claim.runner,
      known: claim.artifacts,
    });
  }

  /**
   * Records an event of the runner. The answer, where there is one, is to be awaited before the next call.
   * @throws ProtocolError
   */
  event(
    event: { readonly type: string; readonly payload: unknown },
    add?: (body: EventBody) => Addition | undefined,
  ): Promise<void> | undefined {
    const checked = this.withArtifact(checkRunnerEvent(event));
    const { fields, audit } = add?.(checked) ?? NOTHING;
    const body = fields ? ({ ...checked, payload: { ...checked.payload, ...fields } } as EventBody) : checked;
    this.steps.apply(body);
    if (!isKeptAt(this.claim.detail, body.type)) return undefined;
    if (body.type === 'message.started') this.startedMessages.add(body.payload.message_id);
    const shown = this.secrets.without(body);
    const last = shown && this.admitted(this.deltas.admit(shown), audit);
    return last ?? (this.waiting > MAX_WAITING ? this.room() : undefined);
  }

  /** A tool call that was not allowed; the platform says so, not the runner. */
  deny(payload: Payload<'tool.denied'>, audit: readonly AuditEntry[]): void {
    this.enqueue({ events: [draftEvent({ type: 'tool.denied', payload })], audit });
  }

  /** Records that go with no event. Resolves with whether they are stored. */
  audit(audit: readonly AuditEntry[]): Promise<boolean> {
    return new Promise((resolve) =>
      this.enqueue({
        events: [],
        audit,
        settle: (outcome) => {
          this.settled(outcome);
          resolve(outcome.kind === 'stored');
        },
      }),
    );
  }

  /**
   * Stored in the append of the events before it, with the workspace that goes with it, where `save` is given. The answer,
   * where there is one, is to be awaited before the next call. @throws ProtocolError when it is too large or no JSON.
   */
  checkpoint(data: unknown, save?: () => Promise<BlobReference | undefined>): Promise<void> | undefined {
    const json = JSON.stringify(data) as string | undefined;
    if (json === undefined) throw new ProtocolError('A checkpoint is no JSON.');
    if (Buffer.byteLength(json) > CHECKPOINT_MAX_BYTES) throw new ProtocolError('A checkpoint is over 4 MiB.');
    let tell: (isSaved: boolean) => void = () => undefined;
    this.saved = new Promise((resolve) => (tell = resolve));
    const store = (workspace?: BlobReference): void =>
      this.enqueue({
        events: [],
        checkpoint: json,
        ...this.withSaved(workspace),
        settle: (outcome) => {
          this.settled(outcome);
          tell(outcome.kind === 'stored');
        },
      });
    if (!save) return void store();
    return save().then(store, (error: unknown) => {
      tell(false);
      throw error;
    });
  }

  /**
   * Resolves with true once a call may go out into the world: its `tool.invoked` is stored, and so is the newest
   * checkpoint, or a later run would not know of the call and make it again. With false when that will never be.
   */
  async isAnnounced(toolCallId: string): Promise<boolean> {
    return (await this.invocations.isStored(toolCallId)) && (await this.saved);
  }

  /** @throws ProtocolError when it has no proper name. */
  async artifact(source: ArtifactSource): Promise<ArtifactBody> {
    checkValue('label', source.name, 'The name of an artifact');
    checkValue('label', source.mediaType, 'The media type of an artifact');
    checkValue('label', source.stepId ?? '', 'The step of an artifact');
    this.made += 1;
    if (this.made > MAX_ARTIFACTS) throw new ProtocolError(`A run has more than ${MAX_ARTIFACTS} artifacts.`);
    const kept = await this.keeper.keep(source);
    this.announce(kept);
    return kept.artifact;
  }

  /** Keeps a file nobody has asked for, unless its content is kept already. True when it was not. */
  async keepFile(
    source: Omit<ArtifactSource, 'content'>,
    read: () => Promise<AsyncIterable<Uint8Array>>,
  ): Promise<boolean> {
    const kept = await this.keeper.keepNew(source, read);
    if (kept) this.announce(kept);
    return kept !== undefined;
  }

  /**
   * Streams the output of a tool call to storage. Resolves with what stands for it: itself when it is a short text, else a
   * reference with a preview. The `tool.completed` of the call then names the artifact.
   * @throws ProtocolError
   */
  async output(toolCallId: string, output: StreamedOutput): Promise<unknown> {
    const { value, kept } = await storeOutput(output, this.keeper);
    if (kept) {
      this.announce(kept);
      this.outputs.set(toolCallId, kept.artifact);
    }
    return value;
  }

  /** Ends the task well. @throws ProtocolError when the answer is none, or a step is still open. */
  async succeed(answer: FinalAnswer): Promise<WriteOutcome> {
    checkValue('result', answer.result, 'The result');
    checkValue('label', answer.messageId ?? '', 'The id of the final message');
    if (answer.usage !== undefined) checkValue('usage', answer.usage, 'The usage');
    const open = this.steps.open();
    if (open !== undefined) throw new ProtocolError(`The run ended with the step ${open.slice(0, 64)} still open.`);
    const { detail } = this.claim;
    void this.admitted(this.deltas.rest());
    const isStarted = answer.messageId !== undefined && this.startedMessages.has(answer.messageId);
    const session = sessionEnd(answer.conversation);
    return this.finish({ events: await draftFinalAnswer(answer, { detail, isStarted, keeper: this.keeper }) }, session);
  }

  /** Stops the run until somebody answers, unless a cancel was asked. @throws ProtocolError when it is not said for what. */
  async pause(
    confirmations: readonly OpenConfirmation[],
    nowMs: number,
    workspace?: BlobReference,
  ): Promise<WriteOutcome> {
    void this.admitted(this.deltas.rest());
    const terms = { nowMs, seconds: this.claim.policy.confirmationSeconds, hide: this.secrets.hide };
    const events = await draftFittingPause(confirmations, terms, this.keeper);
    return this.goOn({ events, ...this.withSaved(workspace) });
  }

  fail(error: ErrorBody, details: Omit<Payload<'task.failed'>, 'error'> = {}): Promise<WriteOutcome> {
    return this.finish({ events: [draftEvent({ type: 'task.failed', payload: { error, ...details } })] });
  }

  cancel(forced: boolean): Promise<WriteOutcome> {
    return this.finish({ events: [draftEvent({ type: 'task.cancelled', payload: { forced } })] });
  }

  /** Closes the run and leaves the task to the next one, unless a cancel was asked. */
  handOn(dispatch: Dispatch, workspace?: BlobReference): Promise<WriteOutcome> {
    return this.goOn({ events: [], dispatch, ...this.withSaved(workspace) });
  }

  /** Ends the run, not the task; where a cancel was asked meanwhile, the task too. */
  private async goOn(write: Pick<Write, 'events' | 'dispatch' | 'workspace'>): Promise<WriteOutcome> {
    const outcome = await this.append({ ...write, unlessCancelled: true });
    // If it was not a cancel that stood against it, the run is not ours any more, and this is fenced off as well.
    if (outcome.kind !== 'fenced') return outcome;
    await this.listener.ending();
    return this.cancel(false);
  }

  /** The end of a tool call with the artifact that holds its output. */
  private withArtifact(body: EventBody): EventBody {
    if (body.type !== 'tool.completed' && body.type !== 'tool.failed') return body;
    const { tool_call_id } = body.payload;
    const artifact = this.outputs.get(tool_call_id);
    if (!artifact) return body;
    this.outputs.delete(tool_call_id);
    return body.type === 'tool.completed' ? { ...body, payload: { ...body.payload, artifact } } : body;
  }

  private announce({ events }: Kept): void {
    if (events.length > 0) this.enqueue({ events });
  }

  /** Only the last of them can be one whose answer is to be awaited: deltas are split at once. */
  private admitted(bodies: readonly EventBody[], audit?: Addition['audit']): Promise<void> | undefined {
    let last: Promise<void> | undefined;
    for (const body of bodies) {
      const records = body === bodies.at(-1) ? audit : undefined;
      try {
        this.write(body, [draftEvent(body)], records);
      } catch (error) {
        if (!(error instanceof OversizeError)) throw error;
        last = this.oversize(error, records);
      }
    }
    return last;
  }

  private async oversize(error: OversizeError, audit: Addition['audit']): Promise<void> {
    this.write(error.body, splitDelta(error.body) ?? (await offloadEvent(error, this.keeper)), audit);
  }

  private write(body: EventBody, events: readonly EventDraft[], audit: Addition['audit']): void {
    const what = audit ? { events, audit } : { events };
    if (body.type !== 'tool.invoked') return this.enqueue(what);
    const invocation = this.invocations.stored(body.payload.tool_call_id);
    this.enqueue({
      ...what,
      settle: (outcome) => {
        this.settled(outcome);
        invocation(outcome.kind === 'stored');
      },
    });
  }

  private enqueue(write: Pick<Write, 'events' | 'checkpoint' | 'workspace' | 'audit' | 'settle'>): void {
    const { taskKey, taskId } = this.claim;
    this.waiting += 1;
    this.ports.writer.write({ taskKey, taskId, guard: this.cursor, settle: this.settled, ...write });
  }

  /** Ends the task: what was saved of its workspace is not needed any more. */
  private finish(write: Pick<Write, 'events'>, end: SessionEnd = {}): Promise<WriteOutcome> {
    return this.append({ ...write, ...(this.hasSaved ? { workspace: null } : {}) }, end);
  }

  private append(
    write: Pick<Write, 'events' | 'dispatch' | 'workspace' | 'unlessCancelled'>,
    end: SessionEnd = {},
  ): Promise<WriteOutcome> {
    const { taskKey, taskId, sessionId } = this.claim;
    const session = sessionId === null ? {} : { session: end };
    return this.ports.writer.append({ taskKey, taskId, guard: this.cursor, ...session, ...write });
  }

  private withSaved(workspace: BlobReference | undefined): Pick<Write, 'workspace'> {
    if (!workspace) return {};
    this.hasSaved = true;
    return { workspace };
  }

  private room(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }

  private readonly settled = (outcome: WriteOutcome): void => {
    this.waiting -= 1;
    if (this.wake && this.waiting <= MAX_WAITING / 2) {
      this.wake();
      this.wake = undefined;
    }
    if (outcome.kind !== 'stored') {
      if (!this.hasFailed) this.listener.failed(outcome);
      this.hasFailed = true;
    } else if (outcome.appended !== this.lastStored) {
      this.lastStored = outcome.appended;
      this.listener.stored(outcome.appended);
    }
  };
}

/** @throws ProtocolError when it is too large or no JSON. */
function sessionEnd(conversation: unknown): SessionEnd {
  if (conversation === undefined) return {};
  const json = JSON.stringify(conversation) as string | undefined;
  if (json === undefined) throw new ProtocolError('A conversation is no JSON.');
  if (Buffer.byteLength(json) > CONVERSATION_MAX_BYTES) throw new ProtocolError('A conversation is over 1 MiB.');
  return { conversation: json };
}
