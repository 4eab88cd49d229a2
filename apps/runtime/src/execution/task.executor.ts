import type { RunnerEvent, RunnerItem } from '#lib/adapters/contract';
import type { Appended, BlobStore, Dispatch, Logger } from '#lib/domain';
import { type EventWriter, mayRunAgain, ProtocolError, RunRecorder, type WriteOutcome } from '#lib/execution';
import type { AdapterHost } from './adapter.host.js';
import type { LiveRun } from './live-run.js';
import type { LiveRuns } from './live-runs.js';
import { createRunContext } from './run-context.js';
import { errorBody, judge } from './run-failure.js';
import type { StallWatch } from './stall.watch.js';
import { guardTools, type ToolSource } from './tool-access.js';
import type { Workspace, Workspaces } from './workspaces.js';

export interface ExecutorPorts {
  readonly adapters: AdapterHost;
  readonly writer: EventWriter;
  readonly blobs: BlobStore;
  readonly live: LiveRuns;
  readonly stalls: StallWatch;
  readonly workspaces: Workspaces;
  readonly tools: ToolSource;
  readonly logger: Logger;
}

interface Stage {
  readonly run: LiveRun;
  readonly recorder: RunRecorder;
  readonly workspace: Workspace;
}

/** How a runner's stream ended: its end was written, it failed, or it was given up (neither). */
interface Played {
  readonly outcome?: WriteOutcome;
  readonly error?: unknown;
}

/** What the end of a run left in the log; `next` is the run it asked for. */
export interface Ended {
  readonly outcome: WriteOutcome;
  readonly next?: Dispatch;
}

/** Plays a runner's stream into the log, and writes its end. */
export class TaskExecutor {
  constructor(private readonly ports: ExecutorPorts) {}

  /** Resolves when the run is over; undefined when nothing of it may be written any more. */
  async execute(run: LiveRun): Promise<Ended | undefined> {
    const { claim } = run.claimed;
    const recorder = new RunRecorder(claim, this.ports, {
      stored: (appended) => this.stored(run, appended),
      failed: ({ kind }) => run.stop(kind === 'refused' ? 'refused' : 'lost', 0),
    });
    const stage = { run, recorder, workspace: this.ports.workspaces.open(claim) };
    try {
      return await this.finish(stage, await this.play(stage));
    } finally {
      await stage.workspace.dispose();
    }
  }

  private async play(stage: Stage): Promise<Played> {
    const { run, recorder, workspace } = stage;
    const { claim } = run.claimed;
    const tools = guardTools(this.ports.tools(claim, run.signal), { run, recorder, live: this.ports.live });
    let stream: AsyncIterator<RunnerItem> | undefined;
    try {
      const adapter = this.ports.adapters.adapter(claim.runner);
      stream = adapter.start(createRunContext(claim, workspace, tools), run.signal)[Symbol.asyncIterator]();
      const outcome = await Promise.race([pump(stream, stage), run.abandoned]);
      return outcome ? { outcome } : {};
    } catch (error) {
      return { error };
    } finally {
      if (stream) await this.leave(stream, run);
    }
  }

  /** Lets the adapter clean up, within the grace. */
  private async leave(stream: AsyncIterator<RunnerItem>, run: LiveRun): Promise<void> {
    run.limit(run.claimed.claim.policy.graceSeconds * 1_000);
    const left = Promise.resolve(stream.return?.()).catch((error: unknown) =>
      this.ports.logger.debug('an adapter failed while it was left', { taskId: run.claimed.claim.taskId, error }),
    );
    await Promise.race([left, run.abandoned]);
  }

  private async finish({ run, recorder }: Stage, { outcome, error }: Played): Promise<Ended | undefined> {
    if (outcome && outcome.kind !== 'refused') return { outcome };
    switch (outcome ? 'refused' : run.reason) {
      case 'lost':
        return undefined;
      case 'cancel':
        return { outcome: await recorder.cancel(run.isAbandoned) };
      case 'deadline':
        return { outcome: await recorder.fail(errorBody('deadline_exceeded'), { phase: 'running' }) };
      case 'budget':
        return {
          outcome: await recorder.fail(errorBody('budget_exceeded', 'The run took longer than its agent allows.')),
        };
      case 'refused':
        return { outcome: await recorder.fail(errorBody('protocol', 'What the runner emitted could not be stored.')) };
      case 'handover':
        return this.handOver(run, recorder);
      case undefined:
        return this.judged(run, recorder, error);
    }
  }

  private async handOver(run: LiveRun, recorder: RunRecorder): Promise<Ended> {
    const { policy, runNo, attempt, runner } = run.claimed.claim;
    if (!mayRunAgain(policy, { canResume: this.ports.adapters.canResume(runner) }))
      return { outcome: await recorder.fail(errorBody('runtime_lost')) };
    const next = { runNo: runNo + 1, reason: 'handover', delayMs: 0, attempt } as const;
    return { outcome: await recorder.handOn(next), next };
  }

  private async judged(run: LiveRun, recorder: RunRecorder, error: unknown): Promise<Ended> {
    const { claim } = run.claimed;
    const verdict = judge(error, claim);
    const { taskKey, taskId, runNo } = claim;
    if (verdict.kind === 'fail' && verdict.error.code === 'internal') {
      this.ports.logger.error('a run failed in a way its adapter does not know', {
        taskKey,
        taskId,
        runNo,
        error,
      });
    }
    if (verdict.kind === 'retry') return { outcome: await recorder.handOn(verdict.dispatch), next: verdict.dispatch };
    return { outcome: await recorder.fail(verdict.error, { phase: verdict.phase }) };
  }

  private stored(run: LiveRun, { atMs, cancelAtMs, stalled }: Appended): void {
    if (cancelAtMs !== undefined && run.reason === undefined) this.ports.live.cancel(run, atMs - cancelAtMs);
    if (stalled) this.ports.stalls.moved(run);
  }
}

/** Records item after item; resolves when the end is stored. */
async function pump(stream: AsyncIterator<RunnerItem>, stage: Stage): Promise<WriteOutcome | undefined> {
  for (;;) {
    const next = await stream.next();
    if (stage.run.isAbandoned) return undefined;
    if (next.done) throw new ProtocolError('The runner ended without a result.');
    const item = next.value;
    stage.run.progressAtMs = performance.now();
    if (item.kind === 'result') return stage.recorder.succeed(item);
    if (item.kind === 'pause') return stage.recorder.pause(item.confirmations, Date.now());
    const busy = record(item, stage);
    if (busy) await busy;
  }
}

function record(
  item: Exclude<RunnerItem, { kind: 'result' | 'pause' }>,
  { run, recorder, workspace }: Stage,
): Promise<void> | undefined {
  switch (item.kind) {
    case 'event':
      if (TOOL_EVENTS.test(item.type)) run.waitingOn = toolOf(item);
      return recorder.event(item);
    case 'checkpoint':
      return void recorder.checkpoint(item.data);
    case 'artifact':
      return keep(item, recorder, workspace);
    default:
      throw new ProtocolError('The runner emitted an item of an unknown kind.');
  }
}

const TOOL_EVENTS = /^tool\.(invoked|completed|failed)$/;

function toolOf(event: RunnerEvent): string | undefined {
  return event.type === 'tool.invoked' ? event.payload.tool_name : undefined;
}

async function keep(
  { path, name, mediaType, stepId }: Extract<RunnerItem, { kind: 'artifact' }>,
  recorder: RunRecorder,
  workspace: Workspace,
): Promise<void> {
  await recorder.artifact({ kind: 'produced', name, mediaType, stepId, content: await workspace.read(path) });
}
