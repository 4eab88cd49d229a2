import { ToolError, type ToolLimits } from '#lib/domain';

/** What a call may carry when the agent says nothing: as much as a request, and as much as one artifact. */
export const DEFAULT_LIMITS: Required<ToolLimits> = { argumentBytes: 1_048_576, outputBytes: 1_073_741_824 };

/** True when a value is at most so many bytes of JSON. */
export function isWithin(value: unknown, bytes: number): boolean {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined || (json.length <= bytes && Buffer.byteLength(json) <= bytes);
}

/** The output, as long as it is within its bound; one that comes in pieces fails at the piece that goes over. */
export function boundOutput(output: unknown, bytes: number): unknown {
  if (output instanceof Uint8Array) return output.byteLength > bytes ? tooLarge(bytes) : output;
  if (typeof output === 'object' && output !== null && Symbol.asyncIterator in output)
    return boundStream(output as AsyncIterable<Uint8Array | string>, bytes);
  // What is whole in memory is measured only where a bound may be met: an answer of the product's own tools is small.
  if (bytes < DEFAULT_LIMITS.outputBytes && !isWithin(output, bytes)) return tooLarge(bytes);
  return output;
}

async function* boundStream(
  output: AsyncIterable<Uint8Array | string>,
  bytes: number,
): AsyncIterable<Uint8Array | string> {
  let size = 0;
  for await (const piece of output) {
    size += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.byteLength;
    if (size > bytes) tooLarge(bytes);
    yield piece;
  }
}

function tooLarge(bytes: number): never {
  throw new ToolError('failed', `The tool answered with more than ${bytes} bytes.`);
}
