import type { WebhookStore } from '#lib/domain';
import type { Caller } from './caller.js';
import { secretOfCallbacks, type WebhookSigning } from './delivery.sender.js';
import type { DestinationCheck } from './destination.check.js';

/** Owners kept in memory; one that is forgotten costs a statement. */
const MAX_KNOWN = 10_000;

/** What a task needs that is to tell somebody what becomes of it. */
export class CallbacksService {
  private readonly known = new Set<string>();

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly signing: WebhookSigning,
    private readonly destinations: DestinationCheck,
  ) {}

  /**
   * Makes sure that messages to the URL may be sent and can be signed; without a URL there is nothing to do.
   * @throws DomainError `invalid_request`
   */
  async prepare(caller: Caller, url: string | undefined): Promise<void> {
    if (url === undefined) return;
    await this.destinations.assertAllowed(url, '/callback/url');
    const owner = secretOfCallbacks(caller);
    if (this.known.has(owner)) return;
    await this.webhooks.ensureCallbackSecret(caller, this.signing.mint(owner).sealed);
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.add(owner);
  }
}
