import { pointerTo, type ToolOrigin } from '#lib/domain';
import { BUILTIN_TOOLS } from '../builtin/catalog.js';
import { argumentsUsed, methodOf, RESERVED_HEADERS } from '../http/http.request.js';
import { argumentsOf, parseUrlTemplate, type UrlTemplate } from '../http/url-template.js';
import { compileLater, compileSchema, type SchemaCheck, type SchemaError, type SchemaFault } from '../schemas.js';
import { type HttpSource, isSecretReference, type McpSource, type ToolSource } from './declaration.js';
import { TOOL_DECLARATIONS } from './declaration.schema.js';

/** From where servers may be declared that are started as processes here: nowhere, the operator's file, or the API too. */
export type StdioPolicy = 'off' | 'file' | 'api';

/** Where a declaration comes from, and what may be declared there. */
export interface DeclarationTerms {
  readonly origin: ToolOrigin;
  readonly stdio: StdioPolicy;
}

const checks: Readonly<Record<string, SchemaCheck>> = Object.fromEntries(
  Object.entries(TOOL_DECLARATIONS).map(([kind, schema]) => [kind, compileLater(schema, { all: true })]),
);

/** Headers that are credentials wherever they go: their values are references, so that no store or answer holds them. */
const CREDENTIALS = /^(?:authorization|cookie|proxy-authorization|x-api-key|api-key|x-auth-token)$/i;

/** What is wrong with one declaration by itself; none: it is a `ToolSource`. Paths are JSON Pointers into it. */
export function toolFaults(value: unknown, terms: DeclarationTerms): readonly SchemaFault[] {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  const check = typeof kind === 'string' && Object.hasOwn(checks, kind) ? checks[kind] : undefined;
  if (!check) return [{ path: '/kind', message: `must be one of ${Object.keys(checks).join(', ')}` }];
  const faults = check(value);
  if (faults.length > 0) return faults;
  const source = value as ToolSource;
  const own = source.kind === 'http' ? httpFaults(source) : mcpFaults(source, terms);
  return [...nameFaults(source), ...headerFaults(source), ...own];
}

function nameFaults({ id }: ToolSource): readonly SchemaFault[] {
  return BUILTIN_TOOLS.has(id) ? [{ path: '/id', message: 'is the name of a built-in tool' }] : [];
}

function headerFaults(source: ToolSource): readonly SchemaFault[] {
  const place = source.kind === 'http' ? '/request/headers' : '/headers';
  const headers = (source.kind === 'http' ? source.request.headers : source.headers) ?? {};
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return Object.entries(headers).flatMap(([name, value], index) => {
    const path = place + pointerTo(name);
    if (RESERVED_HEADERS.has(name.toLowerCase())) return [{ path, message: 'is not a header for declarations to set' }];
    if (names.indexOf(name.toLowerCase()) !== index) return [{ path, message: 'is given twice' }];
    if (CREDENTIALS.test(name) && !isSecretReference(value)) {
      return [
        { path, message: 'must be a reference to a secret: {"secret": "TOOL_SECRET_…"} or {"secret_file": "…"}' },
      ];
    }
    return [];
  });
}

function httpFaults({ parameters, request }: HttpSource): readonly SchemaFault[] {
  const template = templateOf(request.url);
  if (typeof template === 'string') return [{ path: '/request/url', message: template }];
  const faults = [...bodyFaults(request)];
  if (parameters === undefined) {
    if (argumentsUsed(request, template).length > 0) faults.push({ path: '/parameters', message: 'is missing' });
    return faults;
  }
  const schemaFaults = parameterFaults(parameters);
  return [...faults, ...(schemaFaults.length > 0 ? schemaFaults : placeFaults(parameters, request, template))];
}

function bodyFaults(request: HttpSource['request']): readonly SchemaFault[] {
  if (request.json !== undefined && request.form !== undefined) {
    return [{ path: '/request/form', message: 'must be absent beside json' }];
  }
  const body = request.json !== undefined ? 'json' : request.form !== undefined ? 'form' : undefined;
  if (body === undefined || !['GET', 'HEAD'].includes(methodOf(request))) return [];
  return [{ path: `/request/${body}`, message: `must be absent for ${methodOf(request)}` }];
}

/** Faults of the schema of a tool's arguments, by path below the declaration. */
export function parameterFaults(parameters: Readonly<Record<string, unknown>>): readonly SchemaFault[] {
  if (parameters['type'] !== 'object') return [{ path: '/parameters/type', message: 'must be "object"' }];
  try {
    compileSchema(parameters);
    return [];
  } catch (error) {
    if ((error as Error).name !== 'SchemaError') throw error;
    return (error as SchemaError).faults.map(({ path, message }) => ({ path: `/parameters${path}`, message }));
  }
}

/** Each argument that has a place is one the tool takes; those of the path cannot be missing. */
function placeFaults(
  parameters: Readonly<Record<string, unknown>>,
  request: HttpSource['request'],
  template: UrlTemplate,
): readonly SchemaFault[] {
  const properties = Object.keys(parameters['properties'] ?? {});
  const required = (parameters['required'] ?? []) as readonly string[];
  const unknown = argumentsUsed(request, template).filter((name) => !properties.includes(name));
  const optional = argumentsOf(template).path.filter((name) => properties.includes(name) && !required.includes(name));
  return [
    ...[...new Set(unknown)].map((name) => ({
      path: '/request',
      message: `names ${name}, which is not in /parameters/properties`,
    })),
    ...[...new Set(optional)].map((name) => ({
      path: '/parameters/required',
      message: `must hold ${name}: it is part of the path`,
    })),
  ];
}

function mcpFaults(source: McpSource, { origin, stdio }: DeclarationTerms): readonly SchemaFault[] {
  const { url, command } = source;
  if ((url === undefined) === (command === undefined)) {
    return [{ path: '', message: 'must have either url or command' }];
  }
  if (url !== undefined) {
    const extra = (['args', 'env', 'cwd'] as const).filter((field) => source[field] !== undefined);
    const faults = extra.map((field) => ({ path: `/${field}`, message: 'must be absent beside url' }));
    return isPlainUrl(url)
      ? faults
      : [{ path: '/url', message: 'must be http or https, without credentials or fragment' }, ...faults];
  }
  if (source.headers !== undefined) return [{ path: '/headers', message: 'must be absent beside command' }];
  const isAllowed = stdio === 'api' || (stdio === 'file' && origin === 'file');
  return isAllowed ? [] : [{ path: '/command', message: `is not allowed here: MCP_STDIO is ${stdio}` }];
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + hash === '';
}

function templateOf(url: string): UrlTemplate | string {
  try {
    return parseUrlTemplate(url);
  } catch (error) {
    if ((error as Error).name !== 'TemplateError') throw error;
    return (error as Error).message;
  }
}

/** Where the requests of a declaration go, as far as it can be told without a call; undefined when it makes none. */
export function targetOf(
  source: ToolSource,
): { readonly url: string; readonly purpose: 'tool' | 'mcp'; readonly path: string } | undefined {
  if (source.kind === 'http') {
    return { url: `${parseUrlTemplate(source.request.url).origin}/`, purpose: 'tool', path: '/request/url' };
  }
  return source.url === undefined ? undefined : { url: source.url, purpose: 'mcp', path: '/url' };
}
