import {
  type AttemptOutcome,
  type CallbackOwner,
  type ClaimedDelivery,
  encodeNotice,
  isOutboundError,
  type NoticeFacts,
  type OutboundClient,
  outcomeOfStatus,
  parseRetryAfter,
  type PushCredentials,
  type SealedSecret,
} from '#lib/domain';

/** Makes signing secrets and signs with them; what a secret is of is said each time. */
export interface WebhookSigning {
  mint(purpose: string): { readonly shown: string; readonly sealed: SealedSecret };
  headers(
    message: { readonly id: string; readonly atMs: number; readonly body: string },
    secrets: readonly SealedSecret[],
    purpose: string,
  ): Readonly<Record<string, string>>;
  /** For secrets of others that are only kept. */
  seal(text: string, purpose: string): SealedSecret;
  /** Throws where it cannot be read. */
  open(sealed: SealedSecret, purpose: string): string;
}

/** What the secret of a webhook is sealed for. */
export function secretOfWebhook(tenant: string, webhookId: string): string {
  return JSON.stringify(['webhook', tenant, webhookId]);
}

/** What the secret of somebody's callbacks is sealed for. */
export function secretOfCallbacks({ tenant, principal }: CallbackOwner): string {
  return JSON.stringify(['callbacks', tenant, principal]);
}

/** What the credentials of a push config are sealed for. */
export function secretOfPush(tenant: string, taskKey: string, id: string): string {
  return JSON.stringify(['push', tenant, taskKey, id]);
}

/** Both, where both are asked for. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const { token, scheme, credentials } = JSON.parse(text) as PushCredentials;
  return {
    ...(scheme === undefined ? {} : { authorization: credentials === undefined ? scheme : `${scheme} ${credentials}` }),
    ...(token === undefined ? {} : { 'x-a2a-notification-token': token }),
  };
}

/** A message and where it goes. */
export interface Message {
  /** The same at every attempt: receivers tell repeats by it. */
  readonly id: string;
  readonly body: string;
  readonly url: string;
  readonly secrets: readonly SealedSecret[];
  readonly purpose: string;
  /** Media type of the body; absent: JSON. */
  readonly type?: string;
  /** What its receiver asked for. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The messages that tell an event in the form a config asks for. */
export type PushEncoder = (
  facts: NoticeFacts,
  format: string,
) => { readonly type: string; readonly bodies: readonly string[] };

export interface SenderPorts {
  readonly outbound: OutboundClient;
  readonly signing: WebhookSigning;
  readonly pushes: PushEncoder;
}

/** Of an answer nothing but its head is of interest. */
const MAX_RESPONSE_BYTES = 65_536;

/** Signs messages and posts them. It never throws: what went wrong is the outcome. */
export class DeliverySender {
  constructor(
    private readonly ports: SenderPorts,
    /** For one attempt, until the head of its answer. */
    readonly timeoutMs: number,
  ) {}

  /** `stopping` says that the process ends. */
  deliver(claimed: ClaimedDelivery, stopping?: AbortSignal): Promise<AttemptOutcome> {
    const { eventId, facts, tenant, webhookId, owner, url, secrets, push } = claimed;
    if (url === null) return Promise.resolve({ error: 'disabled', latencyMs: 0 });
    if (push) return this.push(claimed, { ...push, url }, stopping);
    const purpose = webhookId === null ? secretOfCallbacks(owner) : secretOfWebhook(tenant, webhookId);
    return this.send({ id: eventId, body: encodeNotice(facts), url, secrets, purpose }, stopping);
  }

  /** One event can take several messages, or none: what failed is sent again with those before it, under the same ids. */
  private async push(
    { eventId, facts, owner, secrets, taskKey, tenant }: ClaimedDelivery,
    { id, format, credentials, url }: NonNullable<ClaimedDelivery['push']> & { readonly url: string },
    stopping: AbortSignal | undefined,
  ): Promise<AttemptOutcome> {
    const headers = this.unsealed(credentials, secretOfPush(tenant, taskKey, id));
    if (headers === undefined) return { error: 'secret', latencyMs: 0 };
    const { type, bodies } = this.ports.pushes(facts, format);
    let outcome: AttemptOutcome = { latencyMs: 0 };
    for (const [index, body] of bodies.entries()) {
      const messageId = index === 0 ? eventId : `${eventId}.${index}`;
      const message = { id: messageId, body, url, secrets, purpose: secretOfCallbacks(owner), type, headers };
      outcome = await this.send(message, stopping);
      if (outcome.error !== undefined) break;
    }
    return outcome;
  }

  /** The fields its receiver asked for; undefined where they cannot be read. */
  private unsealed(sealed: SealedSecret | null, purpose: string): Readonly<Record<string, string>> | undefined {
    if (sealed === null) return {};
    try {
      return headersOf(this.ports.signing.open(sealed, purpose));
    } catch {
      return undefined;
    }
  }

  async send(message: Message, stopping?: AbortSignal): Promise<AttemptOutcome> {
    const headers = this.sign(message);
    if (headers === undefined) return { error: 'secret', latencyMs: 0 };
    const startedMs = performance.now();
    const latency = (): number => Math.round(performance.now() - startedMs);
    const done = new AbortController();
    const signal = stopping ? AbortSignal.any([stopping, done.signal]) : done.signal;
    try {
      const response = await this.ports.outbound.request({
        url: message.url,
        method: 'POST',
        headers: {
          ...message.headers,
          'content-type': message.type ?? 'application/json',
          'user-agent': 'Switchyard-Webhooks/1',
          ...headers,
        },
        body: message.body,
        purpose: 'webhook',
        timeoutMs: this.timeoutMs,
        maxResponseBytes: MAX_RESPONSE_BYTES,
        signal,
      });
      const retryAfterMs = parseRetryAfter(response.headers['retry-after'], Date.now());
      return {
        ...outcomeOfStatus(response.status),
        latencyMs: latency(),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    } catch (error) {
      if (stopping?.aborted) return { error: 'interrupted', latencyMs: latency() };
      return { error: isOutboundError(error) ? error.code : 'unavailable', latencyMs: latency() };
    } finally {
      done.abort();
    }
  }

  private sign({ id, body, secrets, purpose }: Message): Readonly<Record<string, string>> | undefined {
    if (secrets.length === 0) return undefined;
    try {
      return this.ports.signing.headers({ id, atMs: Date.now(), body }, secrets, purpose);
    } catch {
      return undefined;
    }
  }
}
