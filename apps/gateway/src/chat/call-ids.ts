import type { TaskKey } from '#lib/domain';

/** Which of the things a pause waits for: its place among them, or the approval of all that are to be approved. */
export type CallPlace = number | 'approval';

/** What the id of a call stands for. `seq` is that of the event that began the wait. */
export interface CallRef {
  readonly taskKey: TaskKey;
  readonly seq: number;
  readonly place: CallPlace;
}

const CALL_ID = /^call_([\w-]{22})_([0-9a-z]{1,6})_([0-9a-z]{1,2}|A)$/;

/**
 * Ids of calls as clients see them: unique in the world, at most 40 characters, and all a gateway needs to find what they
 * answer. They open nothing: whose task it is is looked at each time.
 */
export function encodeCallId({ taskKey, seq, place }: CallRef): string {
  const key = Buffer.from(taskKey.replaceAll('-', ''), 'hex').toString('base64url');
  return `call_${key}_${seq.toString(36)}_${place === 'approval' ? 'A' : place.toString(36)}`;
}

/** Undefined: it is no id of ours. */
export function decodeCallId(id: string): CallRef | undefined {
  const [, key, seq, place] = CALL_ID.exec(id) ?? [];
  if (key === undefined || seq === undefined || place === undefined) return undefined;
  const hex = Buffer.from(key, 'base64url').toString('hex');
  return {
    taskKey: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') as TaskKey,
    seq: parseInt(seq, 36),
    place: place === 'A' ? 'approval' : parseInt(place, 36),
  };
}
