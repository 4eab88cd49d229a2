import type { Logger, OutboundClient } from '#lib/domain';
import { type FetchLike, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { isSecretReference, type McpSource, type SecretReference } from '../contract/declaration.js';
import { cleanText } from '../foreign-text.js';
import type { ReadSecrets } from '../secrets.js';
import { ProcessTransport } from './process.transport.js';

export interface TransportParts {
  readonly outbound: OutboundClient;
  readonly secrets: ReadSecrets;
  /** What programs are looked for in. */
  readonly programPath: string;
  readonly logger: Logger;
  /** The longest a call may take, in ms. */
  readonly timeoutMs: number;
}

/** Bytes of one answer: a list may be long, a call's output is bounded once more when it is read. */
const MAX_ANSWER = 8_388_608;
/** A stream on which nothing but notices comes is opened anew this often, in ms. */
const STREAM_MS = 600_000;
/** What a call may take beside its time, in ms: it is the call that is to be late, not the exchange. */
const MARGIN_MS = 5_000;
/** Lines of a process that are logged in a minute, and characters of one. */
const MAX_LINES = 60;
const MAX_LINE = 500;

type Values = Readonly<Record<string, string | SecretReference>>;

/** The way to a server, not open yet. @throws ToolError when a secret is missing */
export async function transportTo(source: McpSource, parts: TransportParts): Promise<Transport> {
  if (source.url !== undefined) return remote(source.url, source.headers ?? {}, parts);
  const { command = '', args = [], cwd, env = {} } = source;
  return new ProcessTransport({
    command,
    args,
    cwd,
    env: { PATH: parts.programPath, LANG: 'C.UTF-8', ...(await resolved(env, parts.secrets)) },
    onStderr: lineLogger(source.id, parts),
  });
}

/** Secrets are read for each request, so that one that is changed is used at once. */
function remote(url: string, headers: Values, { outbound, secrets, timeoutMs }: TransportParts): Transport {
  const calls = outbound.fetchFor('mcp', { timeoutMs: timeoutMs + MARGIN_MS, maxResponseBytes: MAX_ANSWER });
  const streams = outbound.fetchFor('mcp', { timeoutMs: STREAM_MS, maxResponseBytes: MAX_ANSWER });
  const guarded: FetchLike = async (target, init) => {
    const sent = new Headers(init?.headers);
    for (const [name, value] of Object.entries(await resolved(headers, secrets))) sent.set(name, value);
    const isStream = (init?.method ?? 'GET') === 'GET';
    return (isStream ? streams : calls)(target, { ...init, headers: sent });
  };
  return new StreamableHTTPClientTransport(new URL(url), { fetch: guarded, onInsufficientScope: 'throw' });
}

async function resolved(values: Values, secrets: ReadSecrets): Promise<Record<string, string>> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    read[name] = isSecretReference(value) ? await secrets.read(value) : value;
  }
  return read;
}

/** What a process prints is somebody else's text, and as much as it likes. */
function lineLogger(server: string, { secrets, logger }: TransportParts): (text: string) => void {
  let startedMs = -Infinity;
  let lines = 0;
  return (text) => {
    const nowMs = performance.now();
    if (nowMs - startedMs > 60_000) [startedMs, lines] = [nowMs, 0];
    for (const line of text.slice(0, MAX_LINES * MAX_LINE).split('\n')) {
      if (line.trim() === '' || (lines += 1) > MAX_LINES) continue;
      logger.info('an MCP server says', { server, line: secrets.hide(cleanText(line)).slice(0, MAX_LINE) });
    }
  };
}
