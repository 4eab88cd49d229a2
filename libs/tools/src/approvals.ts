import type { AskedCall, ToolDenial } from '#lib/domain';
import { digestCall, digestValue } from '#lib/platform';

/** What was decided about a call, as the log has it: long arguments are there by their digest only. */
interface Decision {
  readonly approved?: unknown;
  readonly edited_args?: unknown;
  readonly digests?: { readonly edited_args?: string };
}

/** Leave to make one call. */
export interface Approval {
  /** `<wait_id>/<tool_call_id>` of what was asked. */
  readonly place: string;
  readonly approvedBy: string;
}

/** A call that is to be confirmed. `repeats`: the call of an earlier run, of which nobody knows whether it was made. */
export interface CallToApprove {
  readonly toolName: string;
  readonly args: unknown;
  readonly toolCallId: string;
  readonly repeats?: string;
}

interface Given extends Approval {
  readonly toolCallId: string;
  matches(call: CallToApprove): boolean;
  usedBy: string | null;
}

/**
 * The tool calls somebody approved at the last pause before this run, each good for one call. What was shown is what may
 * run: a call with other arguments finds no approval, whatever its id. One that an earlier run has used is used, unless
 * the very same call is made again.
 */
export class Approvals {
  private readonly given: readonly Given[];

  constructor(asked: readonly AskedCall[]) {
    this.given = asked.flatMap(givenIn);
  }

  /** Uses up an approval of exactly this call; where there is none, says why. */
  take(call: CallToApprove): Approval | ToolDenial {
    const matching = this.given.filter((given) => given.matches(call));
    const free = matching.find(({ usedBy }) => usedBy === null);
    if (free) {
      free.usedBy = call.toolCallId;
      return free;
    }
    if (matching.length > 0) return 'approval_used';
    return this.given.some(({ toolCallId }) => toolCallId === call.toolCallId) ? 'changed' : 'not_approved';
  }

  /** The approval that the repeated call has used. */
  usedFor(call: CallToApprove): Approval | undefined {
    const { repeats } = call;
    return repeats === undefined
      ? undefined
      : this.given.find((given) => given.usedBy === repeats && given.matches(call));
  }
}

function givenIn({ toolCallId, toolName, digest, decision, waitId, decidedBy, usedBy }: AskedCall): Given[] {
  const { approved, edited_args, digests } = JSON.parse(decision) as Decision;
  if (approved !== true || toolName === null) return [];
  const edited = digests?.edited_args ?? (edited_args === undefined ? undefined : digestValue(edited_args));
  return [
    {
      toolCallId,
      place: `${waitId}/${toolCallId}`,
      approvedBy: decidedBy,
      usedBy,
      matches: (call) =>
        edited === undefined
          ? digestCall(call.toolName, call.args) === digest
          : call.toolName === toolName && digestValue(call.args) === edited,
    },
  ];
}
