import { type ToolClient, ToolError } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import type { RunRecorder } from '#lib/execution';
import type { LiveRun } from './live-run.js';
import type { LiveRuns } from './live-runs.js';

/** The tools an agent's run may use. */
export type ToolSource = (claim: Claim, signal: AbortSignal) => ToolClient;

/**
 * Holds a call back until its `tool.invoked` is in the log, with the checkpoint that knows of it, and the run is known to
 * be live: fencing protects the log, not the world.
 */
export function guardTools(
  client: ToolClient,
  { run, recorder, live }: { run: LiveRun; recorder: RunRecorder; live: LiveRuns },
): ToolClient {
  const over = (): ToolError => new ToolError('failed', 'The run is over: the call was not made.');
  return {
    list: client.list,
    async call(name, args, toolCallId) {
      const isStored = await Promise.race([recorder.isAnnounced(toolCallId), aborted(run.signal)]);
      if (!isStored || !live.isSafe(run)) throw over();
      try {
        return await client.call(name, args, toolCallId);
      } catch (error) {
        if (isDenial(error)) {
          recorder.deny({ tool_call_id: toolCallId, tool_name: name, reason: error.message });
          run.waitingOn = undefined;
        }
        throw error;
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));
}

function isDenial(error: unknown): error is ToolError {
  return (error as { name?: unknown }).name === 'ToolError' && (error as ToolError).code === 'denied';
}
