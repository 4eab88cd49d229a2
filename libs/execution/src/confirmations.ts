import { canonicalJson, type ConfirmationBody, type EventDraft } from '#lib/domain';
import { newWaitId } from '#lib/platform';
import { createHash } from 'node:crypto';
import { checkValue, draftEvent, ProtocolError } from './admission.js';

/** How long an answer is waited for. */
const EXPIRY_MS = 24 * 3_600_000;

export type OpenConfirmation = Omit<ConfirmationBody, 'digest' | 'expires_at'>;

/** Names exactly what is to be approved: another tool or other arguments have another digest. */
export function digestCall(toolName: string | undefined, args: unknown): string {
  const call = canonicalJson({ tool_name: toolName ?? null, arguments: args ?? null });
  return createHash('sha256').update(call).digest('hex');
}

/** The events with which a run stops to wait. They belong in one append. @throws ProtocolError */
export function draftPause(open: readonly OpenConfirmation[], nowMs: number): EventDraft[] {
  const wait_id = newWaitId();
  const expires_at = new Date(nowMs + EXPIRY_MS).toISOString();
  const confirmations = open.map((item) => ({
    ...item,
    digest: digestCall(item.tool_name, item.arguments),
    expires_at,
  }));
  checkValue('confirmations', confirmations, 'What a pause waits for');
  if (confirmations.length === 0) throw new ProtocolError('A pause waits for nothing.');
  return [
    draftEvent({ type: 'agent.request_confirmation', payload: { wait_id, confirmations } }),
    draftEvent({ type: 'task.waiting_for_input', payload: { wait_id, confirmations, expires_at } }),
  ];
}
