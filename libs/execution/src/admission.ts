import {
  type Detail,
  type EventBody,
  type EventDraft,
  EVENTS,
  type EventType,
  type FieldKind,
  isShownAt,
  isEventType,
  PAYLOAD_MAX_BYTES,
  PLATFORM_FIELDS,
} from '#lib/domain';
import { newEventId } from '#lib/platform';
import { isDelta } from './delta-joiner.js';
import { cleaned, isSuspicious, MAX_DEPTH } from './event-content.js';
import { FIELD_CHECKS } from './field-checks.js';

/** What a runner emitted breaks the protocol; the message says how and is stored with the task. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** The payload is over the bound of an event. */
export class OversizeError extends ProtocolError {
  constructor(
    message: string,
    /** The event without what must not be stored. */
    readonly body: EventBody,
  ) {
    super(message);
  }
}

export function isProtocolError(error: unknown): error is ProtocolError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'ProtocolError';
}

/** Events only the platform writes. */
const RESERVED = /^(task\..*|artifact\.created|agent\.request_confirmation|heartbeat|tool\.denied)$/;

/** Names that others go by: one line, no secret, and the same wherever they stand. */
const LABELS = /_id$|^(?:tool_name|role|framework|model|digest)$/;

/** What only the platform can know: which answer is the final one, and what it has stored. */
const RESERVED_FIELDS: Readonly<Record<string, string>> = {
  'message.completed': 'final',
  'tool.completed': 'artifact',
};

interface Field {
  readonly kind: FieldKind | 'label';
  readonly isOptional: boolean;
}

function fieldsOf(type: EventType): ReadonlyMap<string, Field> {
  return new Map(
    Object.entries<string>(EVENTS[type].fields).map(([name, spec]) => [
      name,
      {
        kind: LABELS.test(name) ? 'label' : (spec.replace('?', '') as FieldKind),
        isOptional: spec.endsWith('?'),
      },
    ]),
  );
}

const FIELDS: ReadonlyMap<string, ReadonlyMap<string, Field>> = new Map(
  Object.keys(EVENTS).map((type) => [type, fieldsOf(type as EventType)]),
);

/**
 * Checks what a runner emitted against the table of events.
 * @throws ProtocolError for an unknown or reserved type, a missing, unknown or ill-typed field.
 */
export function checkRunnerEvent(event: { readonly type: string; readonly payload: unknown }): EventBody {
  const { type, payload } = event;
  if (!isEventType(type)) throw new ProtocolError(`There is no event of the type ${String(type).slice(0, 64)}.`);
  if (RESERVED.test(type)) throw new ProtocolError(`A runner may not emit ${type}.`);
  if (typeof payload !== 'object' || payload === null) throw new ProtocolError(`The payload of ${type} is no object.`);
  checkFields(type, payload as Readonly<Record<string, unknown>>);
  const reserved = RESERVED_FIELDS[type];
  if (reserved !== undefined && reserved in payload) throw new ProtocolError(`A runner may not set ${reserved}.`);
  if (type.startsWith('tool.')) checkUnclaimed(type, payload);
  return { type, payload } as EventBody;
}

/** What was decided about a call, and by whom, is not for a runner to say. */
function checkUnclaimed(type: string, payload: object): void {
  const claimed = Object.keys(payload).find((name) => PLATFORM_FIELDS.has(name));
  if (claimed !== undefined) throw new ProtocolError(`A runner may not set ${claimed} of ${type}.`);
}

/** Checks one value a runner handed over. @throws ProtocolError */
export function checkValue(kind: FieldKind | 'label', value: unknown, name: string): void {
  const fault = FIELD_CHECKS[kind](value);
  if (fault !== undefined) throw new ProtocolError(`${name} ${fault}.`);
}

function checkFields(type: EventType, payload: Readonly<Record<string, unknown>>): void {
  const fields = FIELDS.get(type)!;
  for (const name of Object.keys(payload)) {
    if (!fields.has(name)) throw new ProtocolError(`${type} has no field ${name.slice(0, 64)}.`);
  }
  for (const [name, { kind, isOptional }] of fields) {
    const value = payload[name];
    if (value === undefined && isOptional) continue;
    checkValue(kind, value, `${name} of ${type}`);
  }
}

/** The payload as JSON text. @throws ProtocolError when it is no JSON. */
function writePayload({ type, payload }: EventBody): string {
  try {
    return JSON.stringify(isDelta(type) ? textLast(payload as { readonly text: string }) : payload);
  } catch (cause) {
    throw new ProtocolError(`The payload of ${type} cannot be written as JSON.`, { cause });
  }
}

function textLast({ text, ...rest }: { readonly text: string }): object {
  return { ...rest, text };
}

/**
 * An event ready for the log, without what must not be stored: secrets, links that lead elsewhere than the web. Its payload is
 * written once, and a second time only where something had to go.
 * @throws OversizeError when its payload is over the bound, ProtocolError when it is no JSON or too deep
 */
export function draftEvent(body: EventBody): EventDraft {
  const written = writePayload(body);
  const clean = withoutSecrets(body, written);
  const json = clean === body ? written : writePayload(clean);
  // A UTF-16 unit takes at most three bytes, so most payloads need no counting.
  if (json.length * 3 > PAYLOAD_MAX_BYTES && Buffer.byteLength(json) > PAYLOAD_MAX_BYTES) {
    throw new OversizeError(`The payload of ${body.type} is over ${PAYLOAD_MAX_BYTES} bytes.`, clean);
  }
  return { eventId: newEventId(), body: clean, json };
}

function withoutSecrets(body: EventBody, json: string): EventBody {
  // Names the caller chose, which stand in the task's own columns as well.
  if (body.type === 'task.created') return body;
  try {
    if (!isSuspicious(body.payload, json)) return body;
  } catch (cause) {
    throw new ProtocolError(`The payload of ${body.type} is deeper than ${MAX_DEPTH}.`, { cause });
  }
  return { type: body.type, payload: cleaned(json) } as EventBody;
}

/** True when a task of this detail keeps the event; the final answer is kept at every level. */
export function isKeptAt(detail: Detail, type: EventType): boolean {
  return isShownAt(detail, type, '');
}
