import { DEFAULT_CONFIRMATION_SECONDS, type ConfirmationSeconds, type Submission } from '#lib/domain';
import { type EventWriter, type OpenConfirmation, RunClaimer, RunRecorder } from '#lib/execution';
import type { PgRunStore, PgTaskStore } from '#lib/persistence';
import { MemoryBlobStore } from './memory-blob-store.js';
import { MemoryEventBus } from './memory-event-bus.js';
import { SilentLogger } from './silent-logger.js';

export interface WaitingPorts {
  readonly tasks: PgTaskStore;
  readonly runs: PgRunStore;
  readonly writer: EventWriter;
}

/** What the next run of a task does, after its claim. */
export interface Pause {
  readonly confirmations: readonly OpenConfirmation[];
  /** Of the checkpoint before it. */
  readonly data?: unknown;
  /** When it paused; the answer is waited for from then on. */
  readonly nowMs?: number;
  readonly seconds?: ConfirmationSeconds;
}

/** Claims the run and lets it pause. */
export async function pauseRun(
  { runs, writer }: Omit<WaitingPorts, 'tasks'>,
  { taskKey }: Pick<Submission, 'taskKey'>,
  { runNo, ...pause }: Pause & { readonly runNo: number },
): Promise<void> {
  const { confirmations, data = {}, nowMs = Date.now(), seconds = DEFAULT_CONFIRMATION_SECONDS } = pause;
  const ports = { runs, bus: new MemoryEventBus(), logger: new SilentLogger() };
  const claimed = await new RunClaimer(ports, { id: 'rt', leaseMs: 30_000 }).claim({
    taskKey,
    runNo,
    tenant: 'acme',
    pool: 'scripted',
    priority: 5,
    delayMs: 0,
  });
  if (!claimed) throw new Error(`run ${runNo} of ${taskKey} is not to be had`);
  const claim = { ...claimed.claim, policy: { ...claimed.claim.policy, confirmationSeconds: seconds } };
  const listener = { stored: () => undefined, failed: () => undefined, ending: () => Promise.resolve() };
  const recorder = new RunRecorder(claim, { writer, blobs: new MemoryBlobStore() }, listener);
  await recorder.checkpoint(data);
  const outcome = await recorder.pause(confirmations, nowMs);
  if (outcome.kind !== 'stored') throw new Error(`the pause was ${outcome.kind}`);
}

/** Submits a task whose first run has paused. */
export async function waitingTask(ports: WaitingPorts, submission: Submission, pause: Pause): Promise<void> {
  await ports.tasks.submit(submission);
  await pauseRun(ports, submission, { ...pause, runNo: 1 });
}
