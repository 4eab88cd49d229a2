import type { ArtifactId, EventId, TaskKey } from '#lib/domain';
import { v7 } from 'uuid';

/** A new task key: a UUIDv7, whose time part decides the day partition its events go to. */
export function newTaskKey(): TaskKey {
  return v7() as TaskKey;
}

export function newEventId(): EventId {
  return `evt_${compact()}` as EventId;
}

export function newArtifactId(): ArtifactId {
  return `art_${compact()}` as ArtifactId;
}

export function newWaitId(): string {
  return `wait_${compact()}`;
}

export function newMessageId(): string {
  return `msg_${compact()}`;
}

function compact(): string {
  return v7().replaceAll('-', '');
}
