import {
  type BaseEvent,
  enforceEvents,
  type HttpAgent,
  type Interrupt,
  parseSSEStream,
  type RunFinishedEvent,
  runHttpRequest,
  transformChunks,
  verifyEvents,
} from '@ag-ui/client';
import type { Place } from './driver.js';

/** Events of AG-UI as tests look at them. */
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** A run as a client of some version has seen it. */
export interface SeenRun {
  readonly events: readonly WireEvent[];
  /** The one terminal event; undefined when the stream ended without. */
  readonly end: WireEvent | undefined;
}

const TERMINAL = ['RUN_FINISHED', 'RUN_ERROR'];

export function headersOf({ key }: Place): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

/** Runs an agent of whatever version of the client, and keeps what it let through. Rejects when the client refuses the run. */
export async function runAgent(
  agent: Pick<HttpAgent, 'runAgent'>,
  parameters: Parameters<HttpAgent['runAgent']>[0] = {},
): Promise<SeenRun> {
  const events: WireEvent[] = [];
  const onEvent = ({ event }: { event: BaseEvent }): void => void events.push(event);
  await agent.runAgent(parameters, { onEvent });
  return { events, end: events.find(({ type }) => TERMINAL.includes(type)) };
}

/** Reads a stream of one or more runs with the pieces of the official client, its verifier among them. */
export function readStream(place: Place, path: string, headers: Record<string, string> = {}): Promise<WireEvent[]> {
  const response = (): Promise<Response> =>
    fetch(`${place.url}${path}`, { headers: { ...headersOf(place), accept: 'text/event-stream', ...headers } });
  return new Promise((resolve, reject) => {
    const events: WireEvent[] = [];
    parseSSEStream(runHttpRequest(response))
      .pipe(enforceEvents(), transformChunks(), verifyEvents())
      .subscribe({
        next: (event) => void events.push(event),
        error: reject,
        complete: () => resolve(events),
      });
  });
}

/** What a run stopped for; none when it did not. */
export function interruptsOf(end: WireEvent | undefined): readonly Interrupt[] {
  const { outcome } = (end ?? {}) as Partial<RunFinishedEvent>;
  return outcome?.type === 'interrupt' ? outcome.interrupts : [];
}
