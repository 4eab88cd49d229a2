import type { Request, Response } from 'express';
import type { Logger, SeenState } from '#lib/domain';
import {
  type AgUiEvent,
  type AgUiExtensions,
  emptyRun,
  profileOf,
  refusedRun,
  RUN_TIMEOUT,
  RunMapper,
  type RunView,
  type ViewOptions,
} from '#lib/protocol/ag-ui';
import type { CancellationsService } from '../core/cancellations.service.js';
import type { Caller } from '../core/caller.js';
import type { StreamsService } from '../core/streams.service.js';
import type { TasksService } from '../core/tasks.service.js';
import type { WatchersService } from '../core/watchers.service.js';
import { leftSignal } from '../http/exchange.js';
import type { EventStreams } from '../http/sse.js';
import type { AgUiOptions } from './ag-ui.options.js';
import { type FrameTerms, plain, RunFrames, type RunPart } from './run.frames.js';
import { refusalOf } from './run.refusal.js';
import type { RunRequest } from './runs.mapping.js';
import type { StartedRun } from './runs.service.js';
import type { FoundRun, TaskRuns } from './threads.service.js';

/** How long a run whose client has left is kept for it to come back. */
const LEAVE_GRACE_MS = 5_000;

export interface RunStreamsPorts {
  readonly streams: EventStreams;
  readonly logs: Pick<StreamsService, 'openSeenEvents'>;
  readonly tasks: Pick<TasksService, 'snapshot'>;
  readonly cancellations: Pick<CancellationsService, 'cancel'>;
  readonly watchers: Pick<WatchersService, 'watch' | 'leave'>;
  readonly extensions: AgUiExtensions;
  readonly logger: Pick<Logger, 'error'>;
}

/** A request for a stream. */
export interface Exchange {
  readonly caller: Caller;
  readonly request: Request;
  readonly response: Response;
}

/** What a reader has said of itself. */
export interface Reader {
  readonly protocolVersion: string | undefined;
  readonly lastEventId?: string | undefined;
}

/** The event streams of runs. */
export class RunStreams {
  constructor(
    private readonly ports: RunStreamsPorts,
    private readonly options: AgUiOptions,
  ) {}

  /** What of runs is shown. */
  get view(): ViewOptions {
    return this.options.view;
  }

  /** A run that is asked for: whatever keeps it from being is told in the stream, unless the request is what is wrong. */
  serveStarted(exchange: Exchange, asked: RunRequest, start: () => Promise<StartedRun | undefined>): Promise<void> {
    const { request, response, caller } = exchange;
    const { threadId, runId, protocolVersion } = asked.input;
    return this.ports.streams.serve(request, response, async () => {
      try {
        const started = await start();
        if (!started) return once(emptyRun(threadId, runId));
        const { run, task, isCurrent } = started;
        if (isCurrent) await this.watch(exchange, task, asked.requestId);
        const view = { threadId, runId, taskId: run.taskId, profile: profileOf(protocolVersion) };
        const limit = this.limitOf(caller, run.taskId, asked.requestId);
        return await RunFrames.open([this.part(task, view, run.firstSeq)], { hasIds: true, ...limit });
      } catch (error) {
        const refusal = refusalOf(error);
        if (!refusal) throw error;
        return once(refusedRun({ threadId, runId }, refusal.code, refusal.message));
      }
    });
  }

  /** A run that is or was. */
  serveRun(exchange: Exchange, threadId: string, reader: Reader, find: () => Promise<FoundRun>): Promise<void> {
    const { request, response } = exchange;
    return this.ports.streams.serve(request, response, async () => {
      const { run, task } = await find();
      await this.watch(exchange, task);
      const profile = profileOf(reader.protocolVersion ?? run.wireVersion ?? '1.0');
      const view = { threadId, runId: run.runId, taskId: run.taskId, profile };
      const afterId = Number(reader.lastEventId ?? NaN);
      return RunFrames.open([this.part(task, view, run.firstSeq)], {
        hasIds: true,
        ...(Number.isSafeInteger(afterId) ? { afterId } : {}),
      });
    });
  }

  /** All runs of a thread, one after the other. Their events have no ids: those belong to one run. */
  serveThread(
    { request, response }: Exchange,
    threadId: string,
    reader: Reader,
    find: () => Promise<readonly [TaskRuns, ...TaskRuns[]]>,
  ): Promise<void> {
    return this.ports.streams.serve(request, response, async () => {
      const [first, ...rest] = await find();
      const parts = [first, ...rest].map((runs) => this.history(threadId, runs, reader));
      return RunFrames.open(parts as [RunPart, ...RunPart[]], { hasIds: false });
    });
  }

  private part(task: StartedRun['task'], view: RunView, firstSeq: number): RunPart {
    return {
      open: () => this.ports.logs.openSeenEvents(task, firstSeq - 1),
      mapperAt: () => this.mapper(view),
      untilSeq: 0,
    };
  }

  private history(threadId: string, { task, runs }: TaskRuns, { protocolVersion }: Reader): RunPart {
    const names = new Map([...runs].reverse().map((run) => [run.firstSeq, run]));
    return {
      open: () => this.ports.logs.openSeenEvents(task),
      // What was answered elsewhere was no run of anybody here.
      mapperAt: (firstSeq) => {
        const run = names.get(firstSeq);
        const runId = run?.runId ?? (firstSeq <= 1 ? task.taskId : `${task.taskId}.${firstSeq}`);
        const profile = profileOf(protocolVersion ?? run?.wireVersion ?? '1.0');
        return this.mapper({ threadId, runId, taskId: task.taskId, profile });
      },
      untilSeq: task.lastSeq,
    };
  }

  private mapper(view: RunView): RunMapper {
    const { extensions, logger } = this.ports;
    return new RunMapper(view, this.options.view, extensions, (error) =>
      logger.error('an extension of AG-UI failed', { taskId: view.taskId, error }),
    );
  }

  private limitOf(caller: Caller, taskId: string, requestId: string): Pick<FrameTerms, 'limit'> {
    const { runTimeoutMs: ms } = this.options;
    if (ms === undefined) return {};
    const { tasks, cancellations } = this.ports;
    const lastSeq = async (): Promise<number> => (await tasks.snapshot(caller, taskId)).lastSeq;
    const stop = (): Promise<unknown> => cancellations.cancel(caller, taskId, { reason: RUN_TIMEOUT, requestId });
    return { limit: { ms, lastSeq, stop } };
  }

  /**
   * Where runs are to end with their clients, whoever watches takes the place of who did before, at whichever gateway. A
   * client that asked for the run, by `requestId`, and leaves for good stops it.
   */
  private async watch({ caller, response }: Exchange, task: SeenState, requestId?: string): Promise<void> {
    if (!this.options.interruptsOnDisconnect) return;
    const left = leftSignal(response);
    const watcher = await this.ports.watchers.watch(task);
    if (requestId === undefined) return;
    const leave = (): void => this.ports.watchers.leave({ caller, task, watcher, requestId }, LEAVE_GRACE_MS);
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
  }
}

/** A stream that is ready before it begins. */
async function* once(events: readonly AgUiEvent[]): AsyncIterable<string> {
  yield await Promise.resolve(plain(events));
}
