import type { EventBody, EventDraft } from '#lib/domain';
import { draftEvent, OversizeError } from './admission.js';
import { type ArtifactKeeper, piecesOf, preview, type Reference, refer } from './artifact.keeper.js';
import { draftPause, type OpenConfirmation, type PauseTerms } from './confirmations.js';
import { isDelta } from './delta-joiner.js';
import { cleanText } from './event-content.js';

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
export async function offloadEvent(error: OversizeError, keeper: ArtifactKeeper): Promise<EventDraft[]> {
  const { body } = error;
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

/** Units of UTF-16 of JSON: arguments shorter than this stay in the event of a pause. */
const KEPT_LENGTH = 400;
/** Units of UTF-16 that all previews in one event may have together. */
const PREVIEWS_LENGTH = 2_000;

/**
 * The events with which a run stops to wait. Where they are too large, long arguments become artifacts, made known before,
 * and references stand for them.
 * @throws ProtocolError, OversizeError when too much is asked at once
 */
export async function draftFittingPause(
  open: readonly OpenConfirmation[],
  terms: PauseTerms,
  keeper: ArtifactKeeper,
): Promise<readonly EventDraft[]> {
  try {
    return draftPause(open, terms);
  } catch (error) {
    if (!(error instanceof OversizeError)) throw error;
  }
  const texts = open.map((item) => ({ id: item.tool_call_id, text: shownText(item, terms) }));
  const long = texts.filter(({ text }) => text.length > KEPT_LENGTH);
  const moved = new Map<string, Reference>();
  const made: EventDraft[] = [];
  for (const { id, text } of long) {
    const { artifact, events } = await keeper.offload(text, 'arguments.json', 'application/json');
    moved.set(id, refer(artifact, text, Math.floor(PREVIEWS_LENGTH / long.length)));
    made.push(...events);
  }
  return [...made, ...draftPause(open, { ...terms, moved })];
}

/** The arguments as JSON text, without what must not be stored. */
function shownText(item: OpenConfirmation, { hide }: PauseTerms): string {
  const shown = hide?.(item.tool_name, item.arguments) ?? item.arguments;
  return shown === undefined ? '' : cleanText(shown);
}
