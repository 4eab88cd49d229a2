/** Compile-time brand: two ids of different kinds are never interchangeable, at no cost at run time. */
export type Branded<T, Name extends string> = T & { readonly __brand: Name };

/** Internal UUIDv7 of a task; everything that travels (channels, job ids, thread ids, storage keys) uses it. */
export type TaskKey = Branded<string, 'TaskKey'>;
/** The caller's name for a task: 1 to 200 of `[A-Za-z0-9._:-]`, not only dots; unique within its tenant only. */
export type TaskId = Branded<string, 'TaskId'>;
/** `evt_` and a UUIDv7 in 32 hex digits; unique in the world. */
export type EventId = Branded<string, 'EventId'>;
/** `art_` and a UUIDv7 in 32 hex digits. */
export type ArtifactId = Branded<string, 'ArtifactId'>;

const TASK_ID = /^[A-Za-z0-9._:-]{1,200}$/;
const ONLY_DOTS = /^\.+$/;
const EVENT_ID = /^evt_[0-9a-f]{32}$/;
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

/** True when `value` may name a task. */
export function isTaskId(value: string): value is TaskId {
  return TASK_ID.test(value) && !ONLY_DOTS.test(value);
}

/** True when `value` has the form of an event id. */
export function isEventId(value: string): value is EventId {
  return EVENT_ID.test(value);
}

/** True when `value` has the form of an artifact id. */
export function isArtifactId(value: string): value is ArtifactId {
  return ARTIFACT_ID.test(value);
}
