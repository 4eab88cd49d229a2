import { ToolError } from '#lib/domain';
import {
  type ArgumentReference,
  type HttpSource,
  isArgumentReference,
  isSecretReference,
  type SecretReference,
} from '../contract/declaration.js';
import type { ReadSecrets } from '../secrets.js';
import { argumentsOf, fillUrl, scalarOf, type UrlTemplate } from './url-template.js';

type Args = Readonly<Record<string, unknown>>;
type HeaderValue = string | SecretReference | ArgumentReference;

/** What is sent for one call. */
export interface HttpMessage {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Headers of the connection, of the answer's form, and of ours: not for a declaration to set. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Methods whose arguments travel in a body unless the declaration says where. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Method of a declaration that names none: one that says nothing of a body reads. */
export function methodOf({ method, json, form }: HttpSource['request']): string {
  return method ?? (json === undefined && form === undefined ? 'GET' : 'POST');
}

/** Names of arguments that a declaration refers to, anywhere. */
export function argumentsUsed(request: HttpSource['request'], template: UrlTemplate): readonly string[] {
  const { path, query } = argumentsOf(template);
  const values = [...Object.values(request.headers ?? {}), ...Object.values(request.form ?? {})];
  const named = values.flatMap((value) => (isArgumentReference(value) ? [value.argument] : []));
  return [...path, ...query, ...named, ...argumentsIn(request.json)];
}

function argumentsIn(json: unknown): readonly string[] {
  if (isArgumentReference(json)) return [json.argument];
  if (typeof json !== 'object' || json === null) return [];
  return Object.values(json).flatMap(argumentsIn);
}

/**
 * The message of a call. Arguments can only fill the places the declaration gives them; what has no place goes into the
 * JSON body where the method has one and the declaration says nothing of it.
 * @throws ToolError `invalid_arguments`
 */
export async function messageOf(
  request: HttpSource['request'],
  template: UrlTemplate,
  { args, secrets }: { readonly args: Args; readonly secrets: ReadSecrets },
): Promise<HttpMessage> {
  const method = methodOf(request);
  const url = fillUrl(template, args);
  const headers: Record<string, string> = { accept: 'application/json, text/*;q=0.9, */*;q=0.1' };
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    const text = await headerOf(value, args, secrets);
    if (text !== undefined) headers[name.toLowerCase()] = text;
  }
  const body = bodyOf(request, template, args);
  if (body === undefined) return { method, url, headers };
  headers['content-type'] ??= body.type;
  return { method, url, headers, body: body.text };
}

async function headerOf(value: HeaderValue, args: Args, secrets: ReadSecrets): Promise<string | undefined> {
  if (typeof value === 'string') return value;
  if (isSecretReference(value)) return secrets.read(value);
  const text = scalarOf(args, value.argument);
  if (text === undefined || /^[\t\x20-\x7e]*$/.test(text)) return text;
  throw new ToolError('invalid_arguments', `/${value.argument} must be printable ASCII: it is sent in a header.`);
}

function bodyOf(
  request: HttpSource['request'],
  template: UrlTemplate,
  args: Args,
): { readonly type: string; readonly text: string } | undefined {
  if (request.form !== undefined) {
    return { type: 'application/x-www-form-urlencoded', text: formOf(request.form, args) };
  }
  if (request.json !== undefined) return { type: 'application/json', text: JSON.stringify(filled(request.json, args)) };
  if (!WITH_BODY.has(methodOf(request))) return undefined;
  const used = new Set(argumentsUsed(request, template));
  const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !used.has(name)));
  return { type: 'application/json', text: JSON.stringify(rest) };
}

function formOf(form: NonNullable<HttpSource['request']['form']>, args: Args): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) {
    const text = typeof value === 'string' ? value : scalarOf(args, value.argument);
    if (text !== undefined) fields.set(name, text);
  }
  return fields.toString();
}

/** A template with its arguments in place; members whose argument is missing are left out. */
function filled(template: unknown, args: Args): unknown {
  if (isArgumentReference(template))
    return Object.hasOwn(args, template.argument) ? args[template.argument] : undefined;
  if (Array.isArray(template)) return template.map((item) => filled(item, args) ?? null);
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filled(value, args)]));
}
