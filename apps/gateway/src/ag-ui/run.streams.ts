import type { Request, Response } from 'express';
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
import { leftSignal, onOver } from '../http/exchange.js';
import type { EventStreams } from '../http/sse.js';
import type { AgUiOptions } from './ag-ui.options.js';
import { plain, RunFrames, type RunPart } from './run.frames.js';
import { refusalOf } from './run.refusal.js';
import type { RunRequest } from './runs.mapping.js';
import type { StartedRun } from './runs.service.js';
import type { FoundRun, TaskRuns } from './threads.service.js';

/** How long a run whose client has left is kept for it to come back. */
const LEAVE_GRACE_MS = 5_000;

export interface RunStreamsPorts {
  readonly streams: EventStreams;
  readonly logs: Pick<StreamsService, 'openSeenEvents'>;
  readonly cancellations: Pick<CancellationsService, 'cancel'>;
  readonly extensions: AgUiExtensions;
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
  /** Streams that are open here, by task. */
  private readonly watched = new Map<string, number>();

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
        const { run, task } = started;
        const stop = (reason: string): Promise<unknown> =>
          this.ports.cancellations.cancel(caller, run.taskId, { reason, requestId: asked.requestId });
        this.watch(response, run.taskId, stop);
        const view = { threadId, runId, taskId: run.taskId, profile: profileOf(protocolVersion) };
        const { runTimeoutMs: ms } = this.options;
        const limit = ms === undefined ? {} : { limit: { ms, stop: () => stop(RUN_TIMEOUT) } };
        return await RunFrames.open([this.part(task, view, run.firstSeq)], { hasIds: true, ...limit });
      } catch (error) {
        const refusal = refusalOf(error);
        if (!refusal) throw error;
        return once(refusedRun({ threadId, runId }, refusal.code, refusal.message));
      }
    });
  }

  /** A run that is or was. */
  serveRun(
    { request, response }: Exchange,
    threadId: string,
    reader: Reader,
    find: () => Promise<FoundRun>,
  ): Promise<void> {
    return this.ports.streams.serve(request, response, async () => {
      const { run, task } = await find();
      this.watch(response, run.taskId);
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
    return new RunMapper(view, this.options.view, this.ports.extensions);
  }

  /** Counts who watches; where a run is to end with its client, it is stopped when that has left for good. */
  private watch(response: Response, taskId: string, stop?: (reason: string) => Promise<unknown>): void {
    const left = leftSignal(response);
    this.watched.set(taskId, (this.watched.get(taskId) ?? 0) + 1);
    onOver(response, () => {
      const others = (this.watched.get(taskId) ?? 1) - 1;
      if (others > 0) this.watched.set(taskId, others);
      else this.watched.delete(taskId);
    });
    if (!stop || !this.options.interruptsOnDisconnect) return;
    const leave = (): void => {
      const stopUnwatched = (): unknown =>
        this.watched.has(taskId) ? undefined : stop('The client has left.').catch(() => undefined);
      setTimeout(stopUnwatched, LEAVE_GRACE_MS).unref();
    };
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
  }
}

/** A stream that is ready before it begins. */
async function* once(events: readonly AgUiEvent[]): AsyncIterable<string> {
  yield await Promise.resolve(plain(events));
}
