import type { AdapterErrorKind, Effects, RunContext, RunnerItem } from '#lib/adapters/contract';
import type { ResultBody } from '#lib/domain';

/** One thing the scripted runner does. `run`: only in the run of that number, which is `{run}` in strings of `event`. */
export type ScriptStep = { readonly run?: number } & (
  | { readonly event: { readonly type: string; readonly payload: object } }
  /** The event so many times over; `{i}` in its strings is the place, from 0. */
  | { readonly repeat: number; readonly event: { readonly type: string; readonly payload: object } }
  /** The next run goes on behind it; data beside it is kept for nobody. */
  | { readonly checkpoint: unknown }
  /** Ends early when the run is aborted, unless `stubborn`. */
  | { readonly wait_ms: number; readonly stubborn?: boolean }
  /** Waits until there is such a file, or the run is aborted; meanwhile emits an event every so many ms (default 5). */
  | {
      readonly until_file: string;
      readonly every_ms?: number;
      readonly meanwhile?: { readonly type: string; readonly payload: object };
    }
  | { readonly throw: { readonly kind: AdapterErrorKind | 'budget' | 'bug'; readonly effects?: Effects } }
  /** Writes a file of the workspace and keeps it. */
  | { readonly artifact: { readonly name: string; readonly text: string; readonly path?: string } }
  /**
   * Does something to the world, as a line of this file, at most once however many runs there are: a run that finds it
   * begun says that the outcome is unknown. The agent must have the tool `summarise`.
   */
  | { readonly effect: string }
  /** Writes a file of the workspace and keeps nothing. */
  | { readonly write: { readonly name: string; readonly text: string } }
  /** Ends with what is in a file of the workspace, if there is one. */
  | { readonly read: string }
  /** Calls a tool, with the events around it. */
  | { readonly tool: { readonly name: string; readonly args: unknown; readonly id: string } }
  | { readonly pause: Extract<RunnerItem, { kind: 'pause' }>['confirmations'] }
  /** Makes the call a pause was about as it was decided, with the events around it; a denied one is not made. */
  | { readonly decided: { readonly name: string; readonly args: object; readonly id: string } }
  /** Writes the run's token to a file of the test, where somebody outside finds it. */
  | { readonly token_to: string; readonly audience?: string }
  /** Ends with what the run was told under these names as the data of its result. */
  | { readonly tell: readonly (keyof RunContext)[] }
  /** `conversation`: what the session's next task is given. `stubborn`: also when the run is to stop. */
  | {
      readonly result: string | ResultBody;
      readonly message_id?: string;
      readonly conversation?: unknown;
      readonly stubborn?: boolean;
    }
  /** Keeps the event loop busy. */
  | { readonly block_ms: number }
  /** Ends the process at once, as a SIGKILL would. */
  | { readonly crash: true }
  /** Hands out whatever this is as an item of the stream. */
  | { readonly garbage: unknown }
  /** Ends the stream though nothing has ended it. */
  | { readonly end: true }
);

/**
 * The script of a run: of its backend's options, else the task's input: an array, as such, as JSON text, or under `script`.
 * `scripts` in the options go before both: by how the id of the A2A message begins that the task came by.
 */
export function scriptOf(
  options: Readonly<Record<string, unknown>>,
  input: unknown,
  context: Readonly<Record<string, unknown>> = {},
): readonly ScriptStep[] {
  const given = typeof input === 'string' && input.startsWith('[{') ? (JSON.parse(input) as unknown) : input;
  const byMessage = scriptOfMessage(options.scripts, context.a2a);
  const steps = byMessage ?? options.script ?? (given as { script?: unknown } | null)?.script ?? given;
  if (Array.isArray(steps)) return steps as ScriptStep[];
  return [{ result: typeof input === 'string' ? input : JSON.stringify(input) }];
}

function scriptOfMessage(scripts: unknown, a2a: unknown): unknown {
  const { message_id: id } = (a2a ?? {}) as { readonly message_id?: string };
  if (scripts === undefined || id === undefined) return undefined;
  const prefixes = Object.keys(scripts as object).filter((prefix) => id.startsWith(prefix));
  const [longest] = prefixes.sort((one, other) => other.length - one.length);
  return longest === undefined ? undefined : (scripts as Readonly<Record<string, unknown>>)[longest];
}
