import type { OutboundRequest, OutboundResponse } from '#lib/domain';

/** What a `fetch` says of a request; purpose and limits are the caller's to add. */
export type FetchedRequest = Pick<OutboundRequest, 'url' | 'method' | 'headers' | 'body' | 'signal'>;

/** Statuses whose `Response` may have no body (Fetch, section 2.2.6). */
const BODILESS: readonly number[] = [101, 103, 204, 205, 304];

/** A `fetch` whose requests go out through `send`. Its answers are not followed anywhere but where `send` goes. */
export function fetchOver(send: (request: FetchedRequest) => Promise<OutboundResponse>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const { url, method, signal } = request;
    const response = await send({ url, method, headers: Object.fromEntries(request.headers), body, signal });
    const isBodiless = BODILESS.includes(response.status);
    if (isBodiless) await response.bytes();
    return new Response(isBodiless ? null : ReadableStream.from(response.body), {
      status: response.status,
      headers: response.headers,
    });
  };
}
