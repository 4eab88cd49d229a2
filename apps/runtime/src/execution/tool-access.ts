import { type ToolClient, ToolError } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import { asStreamed, isProtocolError, type RunRecorder, type StreamedOutput } from '#lib/execution';
import type { LiveRun } from './live-run.js';
import type { LiveRuns } from './live-runs.js';

/** What tools may know of the run they are called from; `input` is what can be read of its input as text. */
export interface ToolContext {
  readonly input: unknown;
  readonly signal: AbortSignal;
}

/** The tools an agent's run may use. */
export type ToolSource = (claim: Claim, context: ToolContext) => ToolClient;

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
        const output = await client.call(name, args, toolCallId);
        const streamed = asStreamed(output);
        return streamed ? await recorder.output(toolCallId, untilAborted(streamed, run.signal)) : output;
      } catch (error) {
        if (isDenial(error)) {
          recorder.deny({ tool_call_id: toolCallId, tool_name: name, reason: error.message });
          run.calls.close(toolCallId);
        }
        throw isProtocolError(error) ? new ToolError('failed', error.message, { cause: error }) : error;
      }
    },
  };
}

/** A tool that never goes on must not keep a run that is over. */
async function* untilAborted(output: StreamedOutput, signal: AbortSignal): StreamedOutput {
  const iterator = output[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextOf(iterator, signal);
      if (next === undefined) throw new ToolError('failed', 'The run is over: the output was not read to its end.');
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: it may be the very thing that hangs.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** The next piece; undefined when the run is over first. No race with one promise for all pieces: it would keep every one. */
function nextOf<T>(iterator: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T> | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', leave));
  });
}

function aborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));
}

function isDenial(error: unknown): error is ToolError {
  return (error as { name?: unknown }).name === 'ToolError' && (error as ToolError).code === 'denied';
}
