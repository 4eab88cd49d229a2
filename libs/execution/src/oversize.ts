import type { EventBody, EventDraft } from '#lib/domain';
import { draftEvent, type OversizeError } from './admission.js';
import { type ArtifactKeeper, piecesOf, preview, refer } from './artifact.keeper.js';
import { isDelta } from './delta-joiner.js';

/** Units of UTF-16 per piece of a long delta: whatever it is made of, its JSON fits an event. */
const PIECE_LENGTH = 2_500;

/** The field of an event that is moved to an artifact when the event is too large. */
const MOVABLE: Readonly<Record<string, string>> = {
  'tool.invoked': 'arguments',
  'tool.completed': 'output',
  'agent.event': 'event',
  'message.completed': 'text',
  'thinking.completed': 'text',
};

type Payload = Readonly<Record<string, unknown>>;

/** Several events in place of a delta that is too large for one; undefined for every other event. */
export function splitDelta({ type, payload }: EventBody): EventDraft[] | undefined {
  if (!isDelta(type)) return undefined;
  const { text } = payload as { readonly text: string };
  return Array.from(piecesOf(text, PIECE_LENGTH), (piece) =>
    draftEvent({ type, payload: { ...payload, text: piece } } as EventBody),
  );
}

/**
 * Moves the large part of an event to an artifact: `artifact.created` first, then the event with a reference.
 * @throws OversizeError when the event has no such part, or is too large without it.
 */
export async function offloadEvent(
  body: EventBody,
  keeper: ArtifactKeeper,
  error: OversizeError,
): Promise<EventDraft[]> {
  const field = MOVABLE[body.type];
  const payload = body.payload as Payload;
  const value = field === undefined ? undefined : payload[field];
  if (field === undefined || value === undefined) throw error;
  const isText = typeof value === 'string';
  const text = isText ? value : JSON.stringify(value);
  const { artifact, events } = isText
    ? await keeper.offload(text, `${field}.txt`, 'text/plain')
    : await keeper.offload(text, `${field}.json`, 'application/json');
  const moved = field === 'text' ? preview(text) : refer(artifact, text);
  const kept = { ...payload, [field]: moved, ...(body.type === 'tool.completed' ? { artifact } : {}) };
  return [...events, draftEvent({ type: body.type, payload: kept } as unknown as EventBody)];
}
