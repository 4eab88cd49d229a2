import type { Claim } from '#lib/domain';
import { digestCall, digestValue } from '#lib/execution';

/** What was decided about a call, as the log has it: long arguments are there by their digest only. */
interface Decision {
  readonly approved?: unknown;
  readonly edited_args?: unknown;
  readonly digests?: { readonly edited_args?: string };
}

/**
 * The tool calls somebody approved at the last pause before this run, each good for one call. What was shown is what may
 * run: a call with other arguments finds no approval, whatever its id.
 */
export class Approvals {
  private readonly left: string[];

  constructor(asked: Claim['asked']) {
    this.left = asked.flatMap(({ toolName, digest, decision }) => {
      const { approved, edited_args, digests } = JSON.parse(decision) as Decision;
      if (approved !== true || toolName === null) return [];
      if (digests?.edited_args !== undefined) return [edited(toolName, digests.edited_args)];
      return [edited_args === undefined ? shown(digest) : edited(toolName, digestValue(edited_args))];
    });
  }

  /** Uses up an approval of exactly this call; false when there is none. */
  take(toolName: string, args: unknown): boolean {
    const names = [shown(digestCall(toolName, args)), edited(toolName, digestValue(args))];
    const at = this.left.findIndex((approval) => names.includes(approval));
    return at >= 0 && this.left.splice(at, 1).length > 0;
  }
}

/** By the digest of tool and arguments. */
function shown(digest: string): string {
  return `shown ${digest}`;
}

/** By the digest of the arguments alone. */
function edited(toolName: string, digest: string): string {
  return `edited ${digest} ${toolName}`;
}
