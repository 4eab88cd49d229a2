import type { AGUIEvent } from '@ag-ui/core';
import type { EventType, LoggedEvent, TaskId } from '#lib/domain';

/** An event as AG-UI spells it. */
export type AgUiEvent = AGUIEvent;

/** What a consumer understands: all of 1.0, or what those before it survive. */
export type Profile = 'full' | 'legacy';

/** The run whose events are spelt. */
export interface RunView {
  readonly threadId: string;
  readonly runId: string;
  readonly taskId: TaskId;
  readonly profile: Profile;
}

/** What of a run is shown, and how. */
export interface ViewOptions {
  readonly reasoning: boolean;
  readonly toolCallArgs: boolean;
  readonly tokenUsage: boolean;
  readonly stateEvents: boolean;
  /** Events of sub-agents as such instead of as `CUSTOM subagent.*`; only for consumers that know them. */
  readonly nativeSubagents: boolean;
  /** Private events of frameworks that nothing else stands for, as `RAW`. */
  readonly raw: boolean;
}

/**
 * Spells events of some types in place of the gateway's own conversion. It must be pure: a replay calls it again and has to
 * come to the same. Whatever it gives, lifecycle rules hold: what would break them is left out.
 */
export interface AgUiConverter {
  /** Of several converters for one type the last one declared is asked. */
  readonly eventTypes: readonly EventType[];
  convert(event: LoggedEvent, run: RunView): readonly AgUiEvent[];
}

/**
 * Changes, adds or drops what an event of the log was converted to. Called in declared order, each with what the one before
 * it left; as pure as a converter.
 */
export type AgUiEnricher = (source: LoggedEvent, events: readonly AgUiEvent[], run: RunView) => readonly AgUiEvent[];

/** What an installation adds to the mapping. */
export interface AgUiExtensions {
  readonly converters?: readonly AgUiConverter[];
  readonly enrichers?: readonly AgUiEnricher[];
}

/** The profile of a consumer (versioning: a version it does not spell `N.N` is none). */
export function profileOf(protocolVersion: string | undefined): Profile {
  const [, major] = /^(\d{1,4})\.\d{1,4}$/.exec(protocolVersion ?? '') ?? [];
  return major !== undefined && Number(major) >= 1 ? 'full' : 'legacy';
}
