import {
  type ConfirmationBody,
  type ConfirmationSeconds,
  DEFAULT_CONFIRMATION_SECONDS,
  type EventDraft,
  type ItemAnswer,
  TOOL_DENIALS,
} from '#lib/domain';
import { digestCall, digestValue, newWaitId } from '#lib/platform';
import { checkValue, draftEvent, OversizeError, ProtocolError } from './admission.js';
import { cleanText } from './event-content.js';

export type OpenConfirmation = Omit<ConfirmationBody, 'digest' | 'expires_at'>;

/** How a pause is shown. */
export interface PauseTerms {
  readonly nowMs: number;
  readonly seconds?: ConfirmationSeconds | undefined;
  /** By call, what stands for arguments that are too long for an event; the digest is of the arguments all the same. */
  readonly moved?: ReadonlyMap<string, unknown>;
  /** Arguments of a tool without the fields that are secret; the digest is of the arguments all the same. */
  readonly hide?: HideFields | undefined;
}

/** Gives arguments as they may be shown; the arguments of no tool are not known to hold a secret. */
export type HideFields = (toolName: string | undefined, args: unknown) => unknown;

/** The events with which a run stops to wait. They belong in one append. @throws ProtocolError */
export function draftPause(
  open: readonly OpenConfirmation[],
  { nowMs, seconds = DEFAULT_CONFIRMATION_SECONDS, moved, hide }: PauseTerms,
): EventDraft[] {
  const wait_id = newWaitId();
  const confirmations = open.map((item) => ({
    ...item,
    ...shownArguments(item, moved, hide),
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

function shownArguments(item: OpenConfirmation, moved: PauseTerms['moved'], hide: PauseTerms['hide']): object {
  if (moved?.has(item.tool_call_id)) return { arguments: moved.get(item.tool_call_id) };
  return hide && item.arguments !== undefined ? { arguments: hide(item.tool_name, item.arguments) } : {};
}

/** Who answered what. */
export interface Answered {
  readonly waitId: string;
  readonly decidedBy: string;
  readonly items: readonly ItemAnswer[];
  /** Tells a repeat of the answer from another one. */
  readonly key?: string;
}

/**
 * The event of an accepted answer. What is too long for an event stands in it by its digest, and so do new arguments that hold
 * a secret; the run gets all of it.
 * @throws OversizeError when even so it is too long
 */
export function draftResumed({ waitId, decidedBy, items, key }: Answered): EventDraft {
  const draft = (isHidden: IsHidden): EventDraft => {
    const decisions = items.map((item) => digestMembers(item, isHidden));
    const answered = { wait_id: waitId, decided_by: decidedBy, decisions };
    return draftEvent({
      type: 'task.resumed',
      payload: key === undefined ? answered : { ...answered, answer_key: key },
    });
  };
  try {
    return draft(isSecret);
  } catch (error) {
    if (!(error instanceof OversizeError)) throw error;
    return draft((name, value) => JSON.stringify(value).length > DIGEST_LENGTH || isSecret(name, value));
  }
}

/** Units of UTF-16 of a reason in the event of a denial; `task.resumed` has it whole. */
const REASON_LENGTH = 1_000;

/** The events of the calls that an answer denies; a run need not tell them, and cannot leave them out. */
export function draftDenials(
  pending: readonly Pick<ConfirmationBody, 'tool_call_id' | 'kind' | 'tool_name' | 'digest'>[],
  { decidedBy, items }: Answered,
): EventDraft[] {
  const answers = new Map(items.map((item) => [item.tool_call_id, item]));
  return pending.flatMap(({ tool_call_id, kind, tool_name, digest }) => {
    const answer = answers.get(tool_call_id);
    if (kind !== 'tool_confirmation' || tool_name === undefined || answer?.approved !== false) return [];
    const reason = (answer.reason ?? TOOL_DENIALS.denied_by_user)
      .slice(0, REASON_LENGTH)
      .replaceAll(/[\0\p{Cs}]/gu, '\uFFFD');
    const payload = { tool_call_id, tool_name, reason, code: 'denied_by_user', digest, denied_by: decidedBy };
    return [draftEvent({ type: 'tool.denied', payload })];
  });
}

type IsHidden = (name: string, value: unknown) => boolean;

/** Shorter JSON than this takes less room than its digest. */
const DIGEST_LENGTH = 100;

/** A call is checked against its approval by the digest of its arguments: a part taken out of them would be another call. */
function isSecret(name: string, value: unknown): boolean {
  return name === 'edited_args' && cleanText(value) !== JSON.stringify(value);
}

function digestMembers(
  { tool_call_id, ...members }: ItemAnswer,
  isHidden: IsHidden,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  const hidden = entries.filter(([name, value]) => isHidden(name, value));
  if (hidden.length === 0) return { tool_call_id, ...members };
  const digests = Object.fromEntries(hidden.map(([name, value]) => [name, digestValue(value)]));
  const shown = entries.filter(([name, value]) => !isHidden(name, value));
  return { tool_call_id, ...Object.fromEntries(shown), digests };
}
