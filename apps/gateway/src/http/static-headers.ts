import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import helmet from 'helmet';

/** Headers as they are set, by name. */
export type StaticHeaders = readonly (readonly [name: string, value: string])[];

/** For answers that are data: nothing of them runs, is framed, is guessed at, or is kept where others could find it. */
const POLICY = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: { policy: 'same-origin' },
  originAgentCluster: false,
  referrerPolicy: { policy: 'no-referrer' },
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: { action: 'deny' },
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
} as const;

const YEAR_SECONDS = 31_536_000;

/**
 * The headers of every answer but event streams, which are read by programs and of which there are many. Helmet is asked
 * once: what it says never depends on the request. `isSecure`: callers come by https, and shall go on to.
 */
export function staticHeaders(isSecure: boolean): StaticHeaders {
  const headers: [string, string][] = [['Cache-Control', 'no-store']];
  const strictTransportSecurity = isSecure && { maxAge: YEAR_SECONDS, includeSubDomains: false };
  const collector = {
    setHeader: (name: string, value: string) => void headers.push([name, value]),
    removeHeader: () => undefined,
  };
  helmet({ ...POLICY, strictTransportSecurity })(
    {} as IncomingMessage,
    collector as unknown as ServerResponse,
    () => undefined,
  );
  return headers;
}

/** Sets those that the answer does not set for itself; to be called as its head goes out. */
export function addStaticHeaders(
  response: ServerResponse,
  headers: StaticHeaders,
  own: OutgoingHttpHeaders | readonly OutgoingHttpHeader[] | undefined,
): void {
  const type = contentTypeOf(own) ?? response.getHeader('content-type');
  if (typeof type === 'string' && type.startsWith('text/event-stream')) return;
  // What goes out with the head goes over what is set here.
  for (const [name, value] of headers) if (!response.hasHeader(name)) response.setHeader(name, value);
}

function contentTypeOf(
  headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[] | undefined,
): OutgoingHttpHeader | undefined {
  if (headers === undefined || Array.isArray(headers)) return undefined;
  const { 'Content-Type': type, 'content-type': lower } = headers as OutgoingHttpHeaders;
  return type ?? lower;
}
