import type { EventId } from '#lib/domain';

const PREFIX = 'evt_';

/** The stored form of an event id: its UUID. */
export function uuidOf(eventId: EventId): string {
  return eventId.slice(PREFIX.length);
}

/** The event id of a stored UUID. */
export function eventIdOf(uuid: string): EventId {
  return `${PREFIX}${uuid.replaceAll('-', '')}` as EventId;
}
