import type { AskedCall } from '#lib/domain';
import { digestCall, digestValue } from '#lib/execution';

/** What was decided about a call, as the log has it: long arguments are there by their digest only. */
interface Decision {
  readonly approved?: unknown;
  readonly edited_args?: unknown;
  readonly digests?: { readonly edited_args?: string };
}

/** True when somebody approved the call of this id, with exactly these arguments: those that were shown, or edited. */
export function isApproved(
  asked: readonly AskedCall[],
  call: { readonly toolCallId: string; readonly toolName: string; readonly args: unknown },
): boolean {
  return asked.some(({ toolCallId, toolName, digest, decision }) => {
    if (toolCallId !== call.toolCallId || toolName !== call.toolName) return false;
    const { approved, edited_args, digests } = JSON.parse(decision) as Decision;
    if (approved !== true) return false;
    const edited = digests?.edited_args ?? (edited_args === undefined ? undefined : digestValue(edited_args));
    return edited === undefined ? digest === digestCall(call.toolName, call.args) : edited === digestValue(call.args);
  });
}
