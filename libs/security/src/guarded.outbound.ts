import {
  OutboundClient,
  OutboundError,
  type OutboundLimits,
  type OutboundPurpose,
  type OutboundRequest,
  type OutboundResponse,
} from '#lib/domain';
import { lookup } from 'node:dns/promises';
import { Deadline } from './outbound.deadline.js';
import { ConnectError, exchange, type Exchanged } from './outbound.exchange.js';
import { fetchOver } from './outbound.fetch.js';
import type { OutboundPolicy } from './outbound.rules.js';
import { readTarget, type Resolve, resolveTarget, type Target } from './outbound.target.js';

const MAX_REDIRECTS = 5;
/** Addresses of one name that are tried. */
const MAX_ATTEMPTS = 4;
/** How long a registration waits for a name, in ms. */
const CHECK_TIMEOUT_MS = 5_000;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const FOLLOWING: readonly string[] = ['GET', 'HEAD'];

export interface GuardedOutboundOptions extends OutboundPolicy {
  /** Absent: the resolver of the system. */
  readonly resolve?: Resolve;
  /** Certificates (PEM) that servers are trusted by; absent: those of Node and of NODE_EXTRA_CA_CERTS. */
  readonly ca?: string;
}

/**
 * The guard of all requests made for others. A name is resolved once per request, every address of the answer is checked, and
 * the connection goes to a checked one: what the name says a moment later does not matter.
 */
export class GuardedOutbound extends OutboundClient {
  private readonly resolve: Resolve;

  constructor(private readonly options: GuardedOutboundOptions) {
    super();
    this.resolve = options.resolve ?? resolveBySystem;
  }

  override async check(url: string, purpose: OutboundPurpose): Promise<void> {
    const deadline = new Deadline(CHECK_TIMEOUT_MS, undefined);
    try {
      await deadline.within(resolveTarget(readTarget(url, purpose), this.options, this.resolve));
    } finally {
      deadline.release();
    }
  }

  override async request(request: OutboundRequest): Promise<OutboundResponse> {
    const deadline = new Deadline(request.timeoutMs, request.signal);
    try {
      return await this.follow(request, deadline);
    } catch (error) {
      deadline.release();
      throw error;
    }
  }

  override fetchFor(purpose: OutboundPurpose, limits: OutboundLimits): typeof fetch {
    return fetchOver((request) => this.request({ ...request, ...limits, purpose }));
  }

  private async follow(request: OutboundRequest, deadline: Deadline): Promise<OutboundResponse> {
    let target = readTarget(request.url, request.purpose);
    for (let left = MAX_REDIRECTS; ; left--) {
      const { response, close } = await this.send(target, request, deadline);
      const location = response.headers.location;
      const isRedirect = REDIRECTS.includes(response.status) && location !== undefined;
      if (!isRedirect || !FOLLOWING.includes(request.method.toUpperCase())) return response;
      close();
      if (left === 0) throw new OutboundError('unavailable', 'The host redirects too often.', 'possible');
      target = redirected(target, location);
    }
  }

  private async send(target: Target, request: OutboundRequest, deadline: Deadline): Promise<Exchanged> {
    const addresses = await deadline.within(resolveTarget(target, this.options, this.resolve));
    let failure: unknown;
    for (const address of addresses.slice(0, MAX_ATTEMPTS)) {
      try {
        return await exchange(target, address, { request, deadline, ca: this.options.ca });
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        failure = error;
      }
    }
    throw new OutboundError('unavailable', 'The host cannot be reached.', 'none', { cause: failure });
  }
}

/** @throws OutboundError `refused` when it leads to another origin */
function redirected({ url, purpose }: Target, location: string): Target {
  const next = URL.canParse(location, url.href) ? readTarget(new URL(location, url.href).href, purpose) : undefined;
  if (next?.url.origin === url.origin) return next;
  throw new OutboundError('refused', 'The host redirects to another origin.', 'possible');
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);
}
