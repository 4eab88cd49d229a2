import { type EventDraft, PAYLOAD_MAX_BYTES } from '#lib/domain';

/** Pieces of one text. Their payloads end in `text`, written last by admission, which is what makes them joinable as text. */
const DELTAS: Readonly<Record<string, 'message_id' | 'tool_call_id'>> = {
  'message.delta': 'message_id',
  'thinking.delta': 'message_id',
  'tool.arguments.delta': 'tool_call_id',
  'tool.output.delta': 'tool_call_id',
};
const TAIL = '"}';

interface DeltaPayload {
  readonly message_id?: string;
  readonly tool_call_id?: string;
  readonly text: string;
}

function deltaOf(draft: EventDraft): DeltaPayload {
  return draft.body.payload as unknown as DeltaPayload;
}

export function isDelta(type: string): boolean {
  return Object.hasOwn(DELTAS, type);
}

/** True when `next` goes on with the text `draft` is a piece of. */
export function continues(draft: EventDraft | undefined, next: EventDraft): boolean {
  const key = DELTAS[next.body.type];
  return key !== undefined && draft?.body.type === next.body.type && deltaOf(draft)[key] === deltaOf(next)[key];
}

/** Joins neighbouring pieces of one text into one event, named by the first of them; every other event stays as it is. */
export function joinDeltas(drafts: readonly EventDraft[]): readonly EventDraft[] {
  const joined: EventDraft[] = [];
  for (let from = 0; from < drafts.length;) {
    const to = endOfText(drafts, from);
    joined.push(to - from === 1 ? drafts[from]! : join(drafts.slice(from, to)));
    from = to;
  }
  return joined;
}

function endOfText(drafts: readonly EventDraft[], from: number): number {
  let bytes = Buffer.byteLength(drafts[from]!.json);
  let to = from + 1;
  for (; to < drafts.length && continues(drafts[to - 1], drafts[to]!); to += 1) {
    bytes += Buffer.byteLength(drafts[to]!.json);
    if (bytes > PAYLOAD_MAX_BYTES) break;
  }
  return to;
}

function join(drafts: readonly EventDraft[]): EventDraft {
  const [first] = drafts as [EventDraft];
  const headLength = first.json.length - TAIL.length - (JSON.stringify(deltaOf(first).text).length - 2);
  const texts = drafts.map(({ json }) => json.slice(headLength, -TAIL.length));
  const payload = { ...first.body.payload, text: drafts.map((draft) => deltaOf(draft).text).join('') };
  return {
    eventId: first.eventId,
    body: { type: first.body.type, payload } as EventDraft['body'],
    json: `${first.json.slice(0, headLength)}${texts.join('')}${TAIL}`,
  };
}
