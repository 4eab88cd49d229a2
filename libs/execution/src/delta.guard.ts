import { type EventBody, openSecretAt, REDACTED, redactSecrets, SECRET_LEAD } from '#lib/domain';
import { isDelta } from './delta-joiner.js';

/** Units of UTF-16 that are kept back at most; what goes on like a secret for longer is taken for one. */
const MAX_HELD = 8_192;
/** Texts of one run that are watched at once; beyond them the oldest is let go. */
const MAX_TEXTS = 256;

interface Watched {
  /** What was let pass last. */
  lead: string;
  /** What may be the beginning of a secret. */
  held: string;
  /** An event of this text, to make others of. */
  delta: EventBody;
}

/** The texts that end with an event: their last pieces come before it. */
const ENDS: Readonly<Record<string, 'message_id' | 'tool_call_id'>> = {
  'message.completed': 'message_id',
  'thinking.completed': 'message_id',
  'tool.invoked': 'tool_call_id',
  'tool.completed': 'tool_call_id',
  'tool.failed': 'tool_call_id',
};

/**
 * Texts that come in pieces, of which a secret is rarely one: what may be the beginning of a secret is kept back until it has
 * gone on as one, which is then taken out whole, or as something else.
 */
export class DeltaGuard {
  private readonly texts = new Map<string, Watched>();

  /** What can be stored in place of an event of the runner; an event that concerns no such text is itself. */
  admit(body: EventBody): readonly EventBody[] {
    if (isDelta(body.type)) return this.piece(body);
    const key = ENDS[body.type];
    if (key === undefined || this.texts.size === 0) return [body];
    return [...this.ended((body.payload as Readonly<Record<string, unknown>>)[key]), body];
  }

  /** What is still kept back. */
  rest(): readonly EventBody[] {
    return [...this.texts.keys()].flatMap((name) => this.release(name));
  }

  private piece(body: EventBody): readonly EventBody[] {
    const name = nameOf(body);
    const { text } = body.payload as { readonly text: string };
    const { lead = '', held = '' } = this.texts.get(name) ?? {};
    const whole = lead + held + text;
    const open = Math.max(openSecretAt(whole), lead.length);
    const isOver = whole.length - open > MAX_HELD;
    const passed = isOver ? whole.slice(lead.length, open) + REDACTED : newPart(whole.slice(0, open), lead.length);
    this.watch(name, {
      lead: whole.slice(Math.max(0, open - SECRET_LEAD), open),
      held: isOver ? '' : whole.slice(open),
      delta: body,
    });
    return passed === text ? [body] : passed === '' && text !== '' ? [] : [withText(body, passed)];
  }

  private watch(name: string, watched: Watched): void {
    this.texts.delete(name);
    this.texts.set(name, watched);
    if (this.texts.size <= MAX_TEXTS) return;
    const [oldest = ''] = this.texts.keys();
    this.texts.delete(oldest);
  }

  private ended(id: unknown): readonly EventBody[] {
    return [...this.texts.keys()]
      .filter((name) => name.endsWith(` ${String(id)}`))
      .flatMap((name) => this.release(name));
  }

  private release(name: string): readonly EventBody[] {
    const { lead, held, delta } = this.texts.get(name)!;
    this.texts.delete(name);
    return held === '' ? [] : [withText(delta, newPart(lead + held, lead.length))];
  }
}

/** What stands behind the part that was let pass already, without secrets; one that begins in that part is taken out from its end on. */
function newPart(whole: string, passed: number): string {
  const clean = redactSecrets(whole);
  if (clean === whole) return whole.slice(passed);
  let same = 0;
  while (same < passed && clean[same] === whole[same]) same++;
  return clean.slice(same);
}

function nameOf({ type, payload }: EventBody): string {
  const { message_id, tool_call_id } = payload as Readonly<Record<string, string | undefined>>;
  return `${type} ${message_id ?? tool_call_id}`;
}

function withText(body: EventBody, text: string): EventBody {
  return { type: body.type, payload: { ...body.payload, text } } as EventBody;
}
