/** What requests are made for; rules for private destinations are given per purpose. */
export const OUTBOUND_PURPOSES = ['tool', 'mcp', 'webhook', 'artifact', 'agent', 'issuer'] as const;
/** One of them. */
export type OutboundPurpose = (typeof OUTBOUND_PURPOSES)[number];

/** Bounds of one exchange. */
export interface OutboundLimits {
  /** In ms, for all of it: names, connections, redirects, and the last byte of the body. */
  readonly timeoutMs: number;
  /** Bytes of the body; content is asked for uncompressed, and refused when it comes compressed. */
  readonly maxResponseBytes: number;
}

/** A request to somebody else's server. */
export interface OutboundRequest extends OutboundLimits {
  readonly url: string;
  readonly method: string;
  /** `Host`, `Content-Length` and what else belongs to the connection is not for callers to set: such a request is refused. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly purpose: OutboundPurpose;
  readonly signal?: AbortSignal;
}

/** Its answer, whatever its status. The connection is held until the body has been read to its end, left, or timed out. */
export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case; `set-cookie` is left out. */
  readonly headers: Readonly<Record<string, string>>;
  /** To be read once. @throws OutboundError `too_large`, `timeout`, `unavailable` */
  readonly body: AsyncIterable<Uint8Array>;
  /** All of `body`. @throws OutboundError as above */
  bytes(): Promise<Uint8Array>;
}

/**
 * `refused`: the destination is not one that requests may go to. `unavailable`: no answer that could be used.
 * `timeout`: not in time. `too_large`: more than `maxResponseBytes`.
 */
export type OutboundErrorCode = 'refused' | 'unavailable' | 'timeout' | 'too_large';

/** A request that came to nothing. The message may be shown: it holds neither addresses nor anything the other side said. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';

  constructor(
    readonly code: OutboundErrorCode,
    message: string,
    /** `none`: no byte of the request has left. */
    readonly effects: 'none' | 'possible',
    details: { readonly cause?: unknown } = {},
  ) {
    super(message, details);
  }
}

/** By name, since realms differ under test. */
export function isOutboundError(error: unknown): error is OutboundError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'OutboundError';
}

/**
 * The one client for every request made for others: it connects only to addresses it has checked itself, follows redirects
 * of GET and HEAD within their origin, keeps no cookies, and knows no proxy.
 */
export abstract class OutboundClient {
  /**
   * For the time a URL is registered: whether a request could be made to it now. It is checked again with each request.
   * @throws OutboundError `refused`; `unavailable` when its name has no address at the moment
   */
  abstract check(url: string, purpose: OutboundPurpose): Promise<void>;
  /** @throws OutboundError; also when `signal` fires: `timeout` */
  abstract request(request: OutboundRequest): Promise<OutboundResponse>;
  /** The same as a `fetch`, for clients that take one. @throws OutboundError from the function it returns */
  abstract fetchFor(purpose: OutboundPurpose, limits: OutboundLimits): typeof fetch;
}
