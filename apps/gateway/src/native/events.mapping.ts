import type { CursorText, EventPage, EventView } from '../core/streams.service.js';
import type { EventsQuery } from './query.dto.js';

/** `from_seq` wins over `Last-Event-ID`. */
export function decodeView(query: EventsQuery, lastEventId: string | undefined): EventView {
  return {
    cursor: decodeCursor(query.from_seq, lastEventId),
    detail: query.detail,
    types: query.types?.split(',').map((type) => type.trim()),
  };
}

function decodeCursor(fromSeq: string | undefined, lastEventId: string | undefined): CursorText | undefined {
  if (fromSeq !== undefined) return { text: fromSeq, source: 'query.from_seq' };
  return lastEventId === undefined ? undefined : { text: lastEventId, source: 'header.last-event-id' };
}

/** Splices the stored envelopes in as they are, so that a page holds the same bytes as the stream. */
export function encodeEventPage({ events, nextSeq, hasMore, state }: EventPage): string {
  return `{"events":[${events.join(',')}],"next_seq":${nextSeq},"has_more":${hasMore},"state":"${state}"}`;
}
