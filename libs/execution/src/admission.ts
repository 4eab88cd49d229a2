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
} from '#lib/domain';
import { newEventId } from '#lib/platform';
import { isDelta } from './delta-joiner.js';
import { FIELD_CHECKS } from './field-checks.js';

/** What a runner emitted breaks the protocol; the message says how and is stored with the task. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** The payload is over the bound of an event. */
export class OversizeError extends ProtocolError {}

export function isProtocolError(error: unknown): error is ProtocolError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'ProtocolError';
}

/** Events only the platform writes. */
const RESERVED = /^(task\..*|artifact\.created|agent\.request_confirmation|heartbeat|tool\.denied)$/;

interface Field {
  readonly kind: FieldKind;
  readonly isOptional: boolean;
}

function fieldsOf(type: EventType): ReadonlyMap<string, Field> {
  return new Map(
    Object.entries<string>(EVENTS[type].fields).map(([name, spec]) => [
      name,
      { kind: spec.replace('?', '') as FieldKind, isOptional: spec.endsWith('?') },
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
  // Which answer is the final one is for the platform to say.
  if (type === 'message.completed' && 'final' in payload) throw new ProtocolError(`A runner may not set final.`);
  return { type, payload } as EventBody;
}

/** Checks one value a runner handed over. @throws ProtocolError */
export function checkValue(kind: FieldKind, value: unknown, name: string): void {
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

/** The payload as JSON text, the one time it is written. @throws ProtocolError when it is no JSON. */
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

/** An event ready for the log. @throws OversizeError when its payload is over the bound. */
export function draftEvent(body: EventBody): EventDraft {
  const json = writePayload(body);
  // A UTF-16 unit takes at most three bytes, so most payloads need no counting.
  if (json.length * 3 > PAYLOAD_MAX_BYTES && Buffer.byteLength(json) > PAYLOAD_MAX_BYTES) {
    throw new OversizeError(`The payload of ${body.type} is over ${PAYLOAD_MAX_BYTES} bytes.`);
  }
  return { eventId: newEventId(), body, json };
}

/** True when a task of this detail keeps the event; the final answer is kept at every level. */
export function isKeptAt(detail: Detail, type: EventType): boolean {
  return isShownAt(detail, type, '');
}
