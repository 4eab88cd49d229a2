import { createHash } from 'node:crypto';
import { DomainError } from '#lib/domain';

/** What a caller's bytes must be. */
export interface ByteLimits {
  readonly maxBytes: number;
  /** Lower-case hex, and the header that said so; absent: nothing was promised. */
  readonly expected?: { readonly sha256: string; readonly header: string };
  /** Default: there must be at least one. */
  readonly mayBeEmpty?: boolean;
}

/**
 * Passes a caller's bytes on while they are what was agreed. It throws in place of the last of them, so that a store that
 * keeps nothing of what broke off keeps nothing of these.
 *
 * @throws DomainError `payload_too_large`, or `invalid_request` when there are none or they are not the ones announced
 */
export async function* receivedBytes(
  content: AsyncIterable<Uint8Array>,
  { maxBytes, expected, mayBeEmpty = false }: ByteLimits,
): AsyncIterable<Uint8Array> {
  const hash = expected && createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    hash?.update(chunk);
    yield chunk;
  }
  if (size === 0 && !mayBeEmpty) throw refusal('', 'required', 'a body is required');
  if (expected && hash?.digest('hex') !== expected.sha256) {
    throw refusal(`header.${expected.header}`, 'digest_mismatch', 'is not the SHA-256 of the body');
  }
}

export function tooLarge(maxBytes: number): DomainError {
  return new DomainError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}

function refusal(path: string, code: string, message: string): DomainError {
  const faults = [{ path, code, message }];
  return new DomainError('invalid_request', `${path || 'The body'}: ${message}.`, { faults });
}
