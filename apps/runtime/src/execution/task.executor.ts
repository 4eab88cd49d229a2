import type { RunnerItem } from '#lib/adapters/contract';
import type { Appended, BlobReference, BlobStore, Dispatch, ErrorBody, Logger, OutboundClient } from '#lib/domain';
import {
  type EventWriter,
  type FindSecretFields,
  mayRunAgain,
  ProtocolError,
  RunRecorder,
  type WriteOutcome,
} from '#lib/execution';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdapterHost } from './adapter.host.js';
import type { ContextCustomiser } from './context-customisers.js';
import type { LiveRun } from './live-run.js';
import type { LiveRuns } from './live-runs.js';
import { createRunContext } from './run-context.js';
import { errorBody, type FailureDetails, judge } from './run-failure.js';
import { fetchInputs } from './input.fetcher.js';
import { type InputSources, readRunInput } from './run-input.js';
import type { TokenSource } from './run-tokens.js';
import type { StallWatch } from './stall.watch.js';
import { RunTools } from './run.tools.js';
import type { ToolSource } from './tools.source.js';
import { keepRest } from './workspace.keeper.js';
import { WorkspaceWatch } from './workspace.watch.js';
import type { Workspace, Workspaces } from './workspaces.js';

/** How long saving a workspace may hold up a hand-over, in ms. */
const SAVE_MS = 2_000;

export interface ExecutorPorts {
  readonly adapters: AdapterHost;
  readonly writer: EventWriter;
  readonly blobs: BlobStore;
  readonly outbound: OutboundClient;
  readonly live: LiveRuns;
  readonly stalls: StallWatch;
  readonly workspaces: Workspaces;
  readonly tools: ToolSource;
  readonly secretFields?: FindSecretFields;
  readonly tokens: (run: LiveRun) => TokenSource;
  readonly customisers: readonly ContextCustomiser[];
  readonly logger: Logger;
}

interface Stage {
  readonly run: LiveRun;
  readonly recorder: RunRecorder;
  readonly workspace: Workspace;
  /** Once the run has begun. */
  tools?: RunTools;
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
    const workspace = this.ports.workspaces.open(claim);
    const recorder: RunRecorder = new RunRecorder(claim, this.ports, {
      stored: (appended) => this.stored(run, appended),
      ending: () => this.keepRest(stage),
      failed: ({ kind }) => run.stop(kind === 'refused' ? 'refused' : 'lost', 0),
    });
    const stage: Stage = { run, recorder, workspace };
    const watch = new WorkspaceWatch(workspace, () => run.stop('workspace', claim.policy.graceSeconds * 1_000));
    try {
      return await this.finish(stage, await this.play(stage));
    } finally {
      watch.stop();
      await workspace.dispose();
    }
  }

  private async play(stage: Stage): Promise<Played> {
    const { run, recorder, workspace } = stage;
    const { claim } = run.claimed;
    let stream: AsyncIterator<RunnerItem> | undefined;
    try {
      const made = this.ports.adapters.adapter(claim.runner);
      const adapter = made instanceof Promise ? await made : made;
      if (claim.workspace) await workspace.restore(claim.workspace);
      const read = readRunInput(claim, this.inputSources(stage));
      const input = read instanceof Promise ? await read : read;
      const access = this.ports.tools(claim, { signal: run.signal, input: input.readable });
      stage.tools = new RunTools(access, { run, recorder, live: this.ports.live });
      const tools = stage.tools.client;
      const { customisers } = this.ports;
      const taskToken = this.ports.tokens(run);
      const context = createRunContext(claim, { input, workspace, tools, taskToken, customisers });
      stream = adapter.start(context, run.signal)[Symbol.asyncIterator]();
      const outcome = await Promise.race([this.pump(stream, stage), run.abandoned]);
      return outcome ? { outcome } : {};
    } catch (error) {
      return { error };
    } finally {
      if (stream) await this.leave(stream, run);
    }
  }

  private inputSources({ run: { claimed, signal }, recorder }: Stage): InputSources {
    const { blobs, outbound } = this.ports;
    const keep = recorder.artifact.bind(recorder);
    return { blobs, fetch: fetchInputs({ outbound, claim: claimed.claim, signal, keep }) };
  }

  /** Records item after item; resolves when the end is stored. */
  private async pump(stream: AsyncIterator<RunnerItem>, stage: Stage): Promise<WriteOutcome | undefined> {
    const { run, recorder } = stage;
    for (;;) {
      const next = await stream.next();
      if (run.isAbandoned) return undefined;
      if (next.done) throw new ProtocolError('The runner ended without a result.');
      const item = next.value;
      run.progressAtMs = performance.now();
      if (item.kind === 'pause' || item.kind === 'result') {
        flush(stage);
        const workspace = await this.leaveFiles(stage, item);
        if (run.isAbandoned) return undefined;
        return item.kind === 'pause'
          ? recorder.pause(item.confirmations, Date.now(), workspace)
          : recorder.succeed(item);
      }
      try {
        const busy = record(item, stage);
        if (busy) await busy;
      } catch (error) {
        // The runner does not know yet that its run is over.
        run.abort();
        throw error;
      }
    }
  }

  /** Saves the workspace of a run that pauses, keeps that of one that has ended. @throws WorkspaceFullError */
  private async leaveFiles(
    stage: Stage,
    { kind }: { readonly kind: 'pause' | 'result' },
  ): Promise<BlobReference | undefined> {
    if (kind === 'pause') return stage.workspace.save();
    await stage.workspace.files();
    await this.keepRest(stage);
    return undefined;
  }

  private async keepRest({ workspace, recorder }: Stage): Promise<void> {
    if (workspace.isUsed) await keepRest(workspace, recorder, this.ports.logger);
  }

  /** Lets the adapter clean up, within the grace. */
  private async leave(stream: AsyncIterator<RunnerItem>, run: LiveRun): Promise<void> {
    run.limit(run.claimed.claim.policy.graceSeconds * 1_000);
    const left = Promise.resolve(stream.return?.()).catch((error: unknown) =>
      this.ports.logger.debug('an adapter failed while it was left', { taskId: run.claimed.claim.taskId, error }),
    );
    await Promise.race([left, run.abandoned]);
  }

  private async finish(stage: Stage, { outcome, error }: Played): Promise<Ended | undefined> {
    const { run } = stage;
    if (outcome && outcome.kind !== 'refused') return { outcome };
    flush(stage);
    switch (outcome ? 'refused' : run.reason) {
      case 'lost':
        return undefined;
      case 'cancel':
        return this.cancel(stage);
      case 'deadline':
        return this.fail(stage, errorBody('deadline_exceeded'), { phase: 'running' });
      case 'budget':
        return this.fail(stage, errorBody('budget_exceeded', 'The run took longer than its agent allows.'));
      case 'workspace':
        return this.fail(stage, errorBody('budget_exceeded', 'The workspace holds more than it may.'));
      case 'refused':
        return this.fail(stage, errorBody('protocol', 'What the runner emitted could not be stored.'));
      case 'handover':
        return this.handOver(stage);
      case undefined:
        return this.judged(stage, error);
    }
  }

  private cancel(stage: Stage): Promise<Ended> {
    // As it is now: keeping the files may take longer than the grace.
    const isForced = stage.run.isAbandoned;
    return this.end(stage, (recorder) => recorder.cancel(isForced));
  }

  private fail(stage: Stage, error: ErrorBody, details?: FailureDetails): Promise<Ended> {
    return this.end(stage, (recorder) => recorder.fail(error, details));
  }

  /** Ends the task, once what its workspace holds is kept. */
  private async end(stage: Stage, write: (recorder: RunRecorder) => Promise<WriteOutcome>): Promise<Ended> {
    await this.keepRest(stage);
    return { outcome: await write(stage.recorder) };
  }

  private async handOver(stage: Stage): Promise<Ended> {
    const { run, recorder, workspace } = stage;
    const { policy, runNo, attempt, runner } = run.claimed.claim;
    if (!mayRunAgain(policy, { canResume: this.ports.adapters.canResume(runner) }))
      return this.fail(stage, errorBody('runtime_lost'));
    const next = { runNo: runNo + 1, reason: 'handover', delayMs: 0, attempt } as const;
    return { outcome: await recorder.handOn(next, await this.savedInTime(workspace)), next };
  }

  /** Undefined when there is nothing new, or no time: then the next run has what was saved before. */
  private async savedInTime(workspace: Workspace): Promise<BlobReference | undefined> {
    const saving = workspace.save().catch((error: unknown) => {
      this.ports.logger.warn('a workspace was not saved for the run that follows', { error });
      return undefined;
    });
    return Promise.race([saving, delay(SAVE_MS, undefined, { ref: false })]);
  }

  private async judged(stage: Stage, error: unknown): Promise<Ended> {
    const { run, recorder } = stage;
    const { claim } = run.claimed;
    const verdict = judge(error, claim, { canResume: this.ports.adapters.canResume(claim.runner) });
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
    return this.fail(stage, verdict.error, verdict.details);
  }

  private stored(run: LiveRun, { atMs, cancelAtMs, stalled }: Appended): void {
    if (cancelAtMs !== undefined && run.reason === undefined) this.ports.live.cancel(run, atMs - cancelAtMs);
    if (stalled) this.ports.stalls.moved(run);
  }
}

function record(
  item: Exclude<RunnerItem, { kind: 'result' | 'pause' }>,
  { run, recorder, workspace, tools }: Stage,
): Promise<void> | undefined {
  switch (item.kind) {
    case 'event': {
      // Checked by the recorder first: only then it is known what the event says. A call over the budget is not made.
      const busy = recorder.event(item, tools?.add);
      run.budget.count(item);
      return busy;
    }
    case 'checkpoint':
      return recorder.checkpoint(item.data, workspace.isUsed ? () => workspace.save() : undefined);
    case 'artifact':
      return keep(item, recorder, workspace);
    default:
      throw new ProtocolError('The runner emitted an item of an unknown kind.');
  }
}

/** What is known of calls that nobody told the end of goes in before the end of the run, while it is ours. */
function flush({ tools, run }: Stage): void {
  if (run.reason !== 'lost') tools?.flush();
}

async function keep(
  { path, name, mediaType, stepId }: Extract<RunnerItem, { kind: 'artifact' }>,
  recorder: RunRecorder,
  workspace: Workspace,
): Promise<void> {
  await recorder.artifact({ kind: 'produced', name, mediaType, stepId, content: await workspace.read(path) });
}
