import { type OutboundClient, type OutboundResponse, ToolError, valueAt } from '#lib/domain';
import type { Breaker } from '../breaker.js';
import { type HttpSource, NO_PARAMETERS, TOOL_DEFAULTS } from '../contract/declaration.js';
import { type Tool, type ToolCall, versionOf } from '../contract/tool.js';
import { cleanText, cleanValue } from '../foreign-text.js';
import { guardedCall, isOutageStatus, OutageError } from '../guarded-call.js';
import { secretFieldsOf } from '../secret-fields.js';
import { ReadSecrets, type SecretSource } from '../secrets.js';
import { type HttpMessage, messageOf } from './http.request.js';
import { parseUrlTemplate } from './url-template.js';

/** What tools behind URLs are called with. */
export interface HttpToolParts {
  readonly outbound: OutboundClient;
  readonly secrets: SecretSource;
  readonly breaker: Breaker;
}

/** Characters of an answer that says no, for the model to read. */
const EXCERPT = 1_000;

type Response = NonNullable<HttpSource['response']>;

/** The tool an HTTP declaration describes. @throws TemplateError for a declaration that was never checked */
export function httpTool(source: HttpSource, parts: HttpToolParts): Tool {
  const template = parseUrlTemplate(source.request.url);
  const parameters = source.parameters ?? NO_PARAMETERS;
  const timeoutMs = (source.timeout_seconds ?? TOOL_DEFAULTS.timeoutSeconds) * 1_000;
  const execute = async (args: Readonly<Record<string, unknown>>, call: ToolCall): Promise<unknown> => {
    const secrets = new ReadSecrets(parts.secrets);
    const message = await messageOf(source.request, template, { args, secrets });
    const hide = (text: string): string => secrets.hide(text);
    return guardedCall({ name: source.id, timeoutMs, breaker: parts.breaker, hide }, call, async (signal) => {
      const response = await parts.outbound.request({
        ...keyed(message, call),
        purpose: 'tool',
        timeoutMs,
        maxResponseBytes: source.response?.max_bytes ?? TOOL_DEFAULTS.maxBytes,
        signal,
      });
      return outputOf(response, source.response ?? {}, hide);
    });
  };
  return {
    name: source.id,
    description: cleanText(source.description),
    parameters,
    idempotent: source.idempotent ?? false,
    kind: 'http',
    version: versionOf(source),
    timeoutMs,
    secretFields: secretFieldsOf(parameters),
    execute,
  };
}

/** A server that knows the header does the same call once, however often it comes. */
function keyed(message: HttpMessage, { idempotencyKey }: ToolCall): HttpMessage {
  if (message.method === 'GET' || message.method === 'HEAD') return message;
  return { ...message, headers: { ...message.headers, 'idempotency-key': idempotencyKey } };
}

async function outputOf(
  response: OutboundResponse,
  { format = 'json', pick, success }: Response,
  hide: (text: string) => string,
): Promise<unknown> {
  const { status } = response;
  const isFine = success ? success.includes(status) : status >= 200 && status < 300;
  const text = Buffer.from(await response.bytes()).toString('utf8');
  if (!isFine) throw refusal(status, hide(cleanText(text)).trim());
  if (format === 'text') return hide(cleanText(text));
  if (text === '') return null;
  const value = cleanValue(parsed(text), hide);
  return pick === undefined ? value : (valueAt(value, pick) ?? null);
}

function refusal(status: number, text: string): ToolError {
  const said = text === '' ? '' : ` It said: ${text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text}`;
  const kind = isOutageStatus(status) ? OutageError : ToolError;
  return new kind('failed', `The tool answered with status ${status}.${said}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ToolError('failed', 'The answer of the tool is not JSON.');
  }
}
