import type { ArtifactId, EventId, TaskKey } from '#lib/domain';
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** A new task key: a UUIDv7, whose time part decides the day partition its events go to; later ones sort behind. */
export function newTaskKey(): TaskKey {
  return v7() as TaskKey;
}

/** Later ones sort behind: lists are in this order. */
export function newArtifactId(): ArtifactId {
  return `art_${v7().replaceAll('-', '')}` as ArtifactId;
}

export function newEventId(): EventId {
  return `evt_${compact()}` as EventId;
}

export function newWaitId(): string {
  return `wait_${compact()}`;
}

export function newMessageId(): string {
  return `msg_${compact()}`;
}

const ID_BYTES = 16;
/** One call for many ids: asking for 16 bytes costs about as much as asking for 4,096. */
const pool = Buffer.alloc(256 * ID_BYTES);
let used = pool.length;

/** A UUIDv7 in 32 hex digits. Those of one millisecond come in no order. */
function compact(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, (used += ID_BYTES));
  return v7({ random }, Buffer.allocUnsafe(ID_BYTES)).toString('hex');
}
