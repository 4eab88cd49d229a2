import OpenAI from 'openai';
import OpenAI4 from 'openai4';
import OpenAI5 from 'openai5';
import OpenAI7 from 'openai7';
import type { Place } from './drivers/driver.js';

/** The official client, every major version of it that is in use, seen as the sixth. */
const CLIENTS = { '4': OpenAI4, '5': OpenAI5, '6': OpenAI, '7': OpenAI7 } as unknown as Record<Version, typeof OpenAI>;

export type Version = '4' | '5' | '6' | '7';
export const VERSIONS: readonly Version[] = ['4', '5', '6', '7'];

type Options = NonNullable<ConstructorParameters<typeof OpenAI>[0]>;

export function clientOf(version: Version, { url, key }: Place, options: Options = {}): OpenAI {
  return new CLIENTS[version]({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...options });
}

/** Where the helpers are: they have moved after the fourth. */
export function helpersOf(version: Version, client: OpenAI): OpenAI['chat']['completions'] {
  if (version !== '4') return client.chat.completions;
  return (client as unknown as { beta: { chat: { completions: OpenAI['chat']['completions'] } } }).beta.chat
    .completions;
}

/** A request counted, and perhaps lost: what a client sends goes to the next of the gateways each time. */
export class Road {
  readonly asked: { readonly retry: string | null; readonly status: number | undefined }[] = [];

  constructor(
    private readonly places: readonly Place[],
    /** Called before the answer of a request is handed on; where it rejects, the connection is lost. */
    private readonly onSent: (attempt: number) => Promise<void> = async () => undefined,
  ) {}

  readonly fetch: typeof fetch = async (input, init) => {
    const attempt = this.asked.length;
    const place = this.places[attempt % this.places.length]!;
    const { pathname } = new URL(String(input instanceof Request ? input.url : input));
    const leave = new AbortController();
    init?.signal?.addEventListener('abort', () => leave.abort());
    const entry: { retry: string | null; status: number | undefined } = {
      retry: new Headers(init?.headers).get('x-stainless-retry-count'),
      status: undefined,
    };
    this.asked.push(entry);
    const answer = fetch(`${place.url}${pathname}`, { ...init, signal: leave.signal });
    answer.catch(() => undefined);
    try {
      await this.onSent(attempt);
    } catch (error) {
      leave.abort();
      throw error;
    }
    const response = await answer;
    entry.status = response.status;
    return response;
  };
}
