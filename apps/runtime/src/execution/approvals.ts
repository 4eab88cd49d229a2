import type { RunnerAnswer } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import { digestCall } from '#lib/execution';

/**
 * The tool calls somebody approved before this run, by the digest of tool and arguments, each good for one call. What was
 * shown is what may run: a call with other arguments finds no approval, whatever its id.
 */
export class Approvals {
  private readonly left = new Map<string, number>();

  constructor({ asked, answer }: Pick<Claim, 'asked' | 'answer'>) {
    if (answer === null) return;
    const { decisions } = JSON.parse(answer) as RunnerAnswer;
    const calls = new Map(asked.map((call) => [call.toolCallId, call]));
    for (const { tool_call_id, approved, edited_args } of decisions) {
      const call = calls.get(tool_call_id);
      if (!call || approved !== true) continue;
      this.add(edited_args === undefined ? call.digest : digestCall(call.toolName ?? undefined, edited_args));
    }
  }

  /** Uses up an approval of exactly this call; false when there is none. */
  take(toolName: string, args: unknown): boolean {
    const digest = digestCall(toolName, args);
    const left = this.left.get(digest) ?? 0;
    if (left > 0) this.left.set(digest, left - 1);
    return left > 0;
  }

  private add(digest: string): void {
    this.left.set(digest, (this.left.get(digest) ?? 0) + 1);
  }
}
