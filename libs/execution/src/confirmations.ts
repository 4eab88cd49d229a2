import {
  canonicalJson,
  type ConfirmationBody,
  type ConfirmationSeconds,
  DEFAULT_CONFIRMATION_SECONDS,
  type EventDraft,
  type ItemAnswer,
} from '#lib/domain';
import { newWaitId } from '#lib/platform';
import { createHash } from 'node:crypto';
import { checkValue, draftEvent, OversizeError, ProtocolError } from './admission.js';

export type OpenConfirmation = Omit<ConfirmationBody, 'digest' | 'expires_at'>;

/** Names exactly what is to be approved: another tool or other arguments have another digest. */
export function digestCall(toolName: string | undefined, args: unknown): string {
  return digestValue({ tool_name: toolName ?? null, arguments: args ?? null });
}

/** Names a value exactly, whatever the order of its members. */
export function digestValue(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** How a pause is shown. */
export interface PauseTerms {
  readonly nowMs: number;
  readonly seconds?: ConfirmationSeconds | undefined;
  /** By call, what stands for arguments that are too long for an event; the digest is of the arguments all the same. */
  readonly moved?: ReadonlyMap<string, unknown>;
}

/** The events with which a run stops to wait. They belong in one append. @throws ProtocolError */
export function draftPause(
  open: readonly OpenConfirmation[],
  { nowMs, seconds = DEFAULT_CONFIRMATION_SECONDS, moved }: PauseTerms,
): EventDraft[] {
  const wait_id = newWaitId();
  const confirmations = open.map((item) => ({
    ...item,
    ...(moved?.has(item.tool_call_id) ? { arguments: moved.get(item.tool_call_id) } : {}),
    digest: digestCall(item.tool_name, item.arguments),
    expires_at: new Date(nowMs + (seconds[item.kind] ?? 0) * 1_000).toISOString(),
  }));
  checkValue('confirmations', confirmations, 'What a pause waits for');
  if (confirmations.length === 0) throw new ProtocolError('A pause waits for nothing.');
  const ids = new Set(confirmations.map(({ tool_call_id }) => tool_call_id));
  if (ids.size < confirmations.length) throw new ProtocolError('A pause waits for two things by one id.');
  // All are answered together, so the time is up with the first of them.
  const expires_at = confirmations.map((item) => item.expires_at).sort()[0]!;
  return [
    draftEvent({ type: 'agent.request_confirmation', payload: { wait_id, confirmations } }),
    draftEvent({ type: 'task.waiting_for_input', payload: { wait_id, confirmations, expires_at } }),
  ];
}

/** Who answered what. */
export interface Answered {
  readonly waitId: string;
  readonly decidedBy: string;
  readonly items: readonly ItemAnswer[];
}

/**
 * The event of an accepted answer. What is too long for an event stands in it by its digest; the run gets it whole.
 * @throws OversizeError when even so it is too long
 */
export function draftResumed({ waitId, decidedBy, items }: Answered): EventDraft {
  const draft = (decisions: readonly Readonly<Record<string, unknown>>[]): EventDraft =>
    draftEvent({ type: 'task.resumed', payload: { wait_id: waitId, decided_by: decidedBy, decisions } });
  try {
    return draft(items.map((item) => ({ ...item })));
  } catch (error) {
    if (!(error instanceof OversizeError)) throw error;
    return draft(items.map(digestLongMembers));
  }
}

/** Shorter JSON than this takes less room than its digest. */
const DIGEST_LENGTH = 100;

function digestLongMembers({ tool_call_id, ...members }: ItemAnswer): Readonly<Record<string, unknown>> {
  const isLong = ([, value]: [string, unknown]): boolean => JSON.stringify(value).length > DIGEST_LENGTH;
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  const digests = entries.filter(isLong).map(([name, value]) => [name, digestValue(value)]);
  const short = entries.filter((entry) => !isLong(entry));
  return { tool_call_id, ...Object.fromEntries(short), digests: Object.fromEntries(digests) as object };
}
