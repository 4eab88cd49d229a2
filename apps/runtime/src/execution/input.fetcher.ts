import { AdapterError } from '#lib/adapters/contract';
import {
  type ArtifactBody,
  type Claim,
  isOutboundError,
  type OutboundClient,
  type OutboundResponse,
  type PlacedPart,
} from '#lib/domain';
import type { ArtifactSource } from '#lib/execution';

/** Bytes that one part of an input may have elsewhere. */
const MAX_BYTES = 104_857_600;
/** In ms, to the last byte. */
const TIMEOUT_MS = 60_000;
const OCTETS = 'application/octet-stream';
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?[\w-]{1,50}=[\w.+-]{1,100}){0,4}$/;
/** Statuses below 500 that another attempt may change. */
const PASSING: readonly number[] = [408, 425, 429];

/** Makes the bytes of a part that names a URL an artifact of the task. */
export type FetchInput = (placed: PlacedPart) => Promise<ArtifactBody>;

export interface FetchTerms {
  readonly outbound: OutboundClient;
  readonly claim: Pick<Claim, 'artifacts'>;
  readonly signal: AbortSignal;
  /** Stores the bytes and makes them known. */
  readonly keep: (source: ArtifactSource) => Promise<ArtifactBody>;
}

/**
 * Fetches each part once per task: a later run takes what an earlier one has stored, so that all of them see the same bytes.
 * The answers of FetchInput reject with an AdapterError without effects: it asks for bytes and changes nothing.
 */
export function fetchInputs({ outbound, claim, signal, keep }: FetchTerms): FetchInput {
  return async ({ index, part }) => {
    const origin = `/input/${index}/url`;
    const known = claim.artifacts.find((artifact) => artifact.kind === 'input' && artifact.origin === origin);
    if (known) return known;
    try {
      const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_BYTES };
      const request = { url: part.url ?? '', method: 'GET', purpose: 'artifact', signal, ...limits } as const;
      const response = await outbound.request(request);
      const mediaType = mediaTypeOf(response, { index, part });
      const name = part.name ?? `input-${index}`;
      return await keep({ kind: 'input', name, mediaType, origin, content: response.body });
    } catch (error) {
      throw isOutboundError(error) ? failed(index, error.code, error.message) : error;
    }
  };
}

function mediaTypeOf({ status, headers }: OutboundResponse, { index, part }: PlacedPart): string {
  if (status !== 200) {
    const isFinal = status < 500 && !PASSING.includes(status);
    throw failed(index, isFinal ? 'refused' : 'unavailable', `The host answered with ${status}.`);
  }
  const told = headers['content-type'] ?? '';
  const mediaType = part.media_type ?? (MEDIA_TYPE.test(told) ? told : OCTETS);
  if (part.type === 'file' || mediaType.toLowerCase().startsWith(`${part.type}/`)) return mediaType;
  throw failed(index, 'refused', `What is there is of another type than ${part.type}.`);
}

/** The message names the part, never the URL: that may be a secret. */
function failed(index: number, code: 'refused' | 'too_large' | 'unavailable' | 'timeout', why: string): AdapterError {
  const kind = code === 'refused' || code === 'too_large' ? 'rejected' : code;
  return new AdapterError(kind, `/input/${index}/url could not be fetched. ${why}`, { effects: 'none' });
}
