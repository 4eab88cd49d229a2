import type { CallbackOwner, WebhookStore } from '#lib/domain';
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
    await this.ensureSecret(caller);
  }

  /** Makes sure that messages of the tasks of this owner can be signed. */
  async ensureSecret(owner: CallbackOwner): Promise<void> {
    const name = secretOfCallbacks(owner);
    if (this.known.has(name)) return;
    await this.webhooks.ensureCallbackSecret(owner, this.signing.mint(name).sealed);
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.add(name);
  }
}
