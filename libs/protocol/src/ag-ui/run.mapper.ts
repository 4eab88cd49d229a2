import { EventType, PROTOCOL_VERSION } from '@ag-ui/core';
import { EventSchemas } from '@ag-ui/core/schemas';
import { isTerminalEvent, type LoggedEvent } from '#lib/domain';
import type { AgUiConverter, AgUiEvent, AgUiExtensions, RunView, ViewOptions } from './contract.js';
import type { RunErrorCode } from './errors.js';
import { Lifecycle } from './lifecycle.js';
import { StandardConverter } from './standard.converter.js';

/** What consumers before 1.0 refuse a run for. */
const NOT_LEGACY: ReadonlySet<EventType> = new Set([
  EventType.SUBAGENT_STARTED,
  EventType.SUBAGENT_FINISHED,
  EventType.SUBAGENT_ERROR,
]);

/**
 * The events of one run, from `RUN_STARTED` to its one terminal event, whatever the extensions make of it. To be given the
 * events of the log from the first of the run on, without holes.
 */
export class RunMapper {
  private readonly standard: StandardConverter;
  private readonly lifecycle = new Lifecycle();
  private readonly converters: ReadonlyMap<string, AgUiConverter>;
  private hasBegun = false;

  constructor(
    private readonly run: RunView,
    options: ViewOptions,
    private readonly extensions: AgUiExtensions = {},
    private readonly onFault: (error: unknown) => void = () => undefined,
  ) {
    this.standard = new StandardConverter(run, options);
    this.converters = new Map(
      (extensions.converters ?? []).flatMap((converter) => converter.eventTypes.map((type) => [type, converter])),
    );
  }

  /** The run has ended: what comes after is another one's. */
  get isOver(): boolean {
    return this.lifecycle.isOver;
  }

  /** What an event of the log comes to. Heartbeats, which have no place in the log, come to nothing. */
  take(event: LoggedEvent): readonly AgUiEvent[] {
    if (event.seq === 0 || this.isOver) return [];
    const start = this.hasBegun ? [] : [runStarted(this.run)];
    this.hasBegun = true;
    // Asked also where another converter has the word: it has to know what has happened.
    const standard = this.standard.convert(event);
    const extended = this.extended(event, [...start, ...standard], start);
    // What was to be changed or left out must not be shown as it is.
    if (!extended) return this.cut('INTERNAL_ERROR', 'The run cannot be shown.');
    const admitted = this.admit(extended, event);
    const isEnd = isTerminalEvent(event.type) || event.type === 'task.waiting_for_input';
    // Extensions may drop anything, but not these.
    const begun = start.length > 0 && admitted.length === 0 ? this.admit(start, event) : admitted;
    return isEnd && !this.isOver ? [...begun, ...this.admit(standard.slice(-1), event)] : begun;
  }

  /** The run ends for this consumer though nothing in the log says so. */
  cut(code: RunErrorCode, message: string): readonly AgUiEvent[] {
    // A second beginning is left out.
    return this.lifecycle.admit([runStarted(this.run), { type: EventType.RUN_ERROR, message, code }]);
  }

  private extended(...given: Parameters<RunMapper['extend']>): readonly AgUiEvent[] | undefined {
    try {
      return this.extend(...given);
    } catch (error) {
      this.onFault(error);
      return undefined;
    }
  }

  private extend(event: LoggedEvent, events: readonly AgUiEvent[], start: readonly AgUiEvent[]): readonly AgUiEvent[] {
    const { enrichers = [] } = this.extensions;
    const converter = this.converters.get(event.type);
    if (!converter && enrichers.length === 0) return events;
    const converted = converter ? [...start, ...converter.convert(event, this.run)] : events;
    const enriched = enrichers.reduce((before, enrich) => enrich(event, before, this.run), converted);
    return enriched.filter((each) => EventSchemas.safeParse(each).success);
  }

  private admit(events: readonly AgUiEvent[], { timestamp }: LoggedEvent): readonly AgUiEvent[] {
    const atMs = Date.parse(timestamp);
    const fit = this.run.profile === 'full' ? events : events.filter(({ type }) => !NOT_LEGACY.has(type));
    return this.lifecycle.admit(fit.map((event) => ({ ...event, timestamp: event.timestamp ?? atMs })));
  }
}

type RunNames = Pick<RunView, 'threadId' | 'runId'> & Partial<Pick<RunView, 'taskId'>>;

/** The beginning of a run. Its input is not repeated: it may hold what not every reader of the log is to see. */
function runStarted({ threadId, runId, taskId }: RunNames): AgUiEvent {
  return {
    type: EventType.RUN_STARTED,
    threadId,
    runId,
    protocolVersion: PROTOCOL_VERSION,
    ...(taskId === undefined ? {} : { metadata: { taskId } }),
  };
}

/** A run that does not come to be. */
export function refusedRun(names: RunNames, code: RunErrorCode, message: string): readonly AgUiEvent[] {
  return [runStarted(names), { type: EventType.RUN_ERROR, message, code }];
}

/** A run in which there was nothing to do. */
export function emptyRun(threadId: string, runId: string): readonly AgUiEvent[] {
  return [runStarted({ threadId, runId }), { type: EventType.RUN_FINISHED, threadId, runId }];
}
