import type { ArtifactId, EventId, TaskKey } from '#lib/domain';
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** A new task key: a UUIDv7, whose time part decides the day partition its events go to; later ones sort behind. */
export function newTaskKey(): TaskKey {
  return ordered() as TaskKey;
}

/** Later ones sort behind: lists are in this order. */
export function newArtifactId(): ArtifactId {
  return `art_${ordered().replaceAll('-', '')}` as ArtifactId;
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

function randomBytes(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool.subarray(used, (used += ID_BYTES));
}

/** A UUIDv7 in 32 hex digits. Those of one millisecond come in no order. */
function compact(): string {
  return v7({ random: randomBytes() }, Buffer.allocUnsafe(ID_BYTES)).toString('hex');
}

let lastMs = 0;
let seq = 0;

/** A UUIDv7 that sorts behind those before it: a millisecond begins in the lower half of its numbers and counts up. */
function ordered(): string {
  const random = randomBytes();
  const nowMs = Date.now();
  seq = nowMs > lastMs ? random.readUInt32BE(6) >>> 1 : seq + 1;
  lastMs = Math.max(lastMs, nowMs);
  return v7({ random, msecs: lastMs, seq });
}
