/** Longest a call may take, in seconds: what a run may wait is bounded elsewhere. */
const MAX_SECONDS = 3_600;
/** The largest answer a tool may be allowed, in bytes. */
const MAX_BYTES = 8_388_608;

/** What every model provider takes as a name. Two underscores separate a server from its tool, so no name has them. */
export const TOOL_ID = '^[A-Za-z](_?[A-Za-z0-9-])*_?$';
/** Short enough to leave room for the names of its tools. */
export const SERVER_ID = '^[A-Za-z][A-Za-z0-9-]{0,31}$';

const name = { type: 'string', minLength: 1, maxLength: 200 } as const;
const object = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const argument = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,99}$' } as const;
const secretName = { type: 'string', pattern: '^TOOL_SECRET_[A-Z0-9_]{1,100}$' } as const;
const secretFile = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$',
  maxLength: 200,
} as const;
const literal = { type: 'string', maxLength: 4_096, pattern: '^[\\t\\x20-\\x7e]*$' } as const;
const prefix = { type: 'string', maxLength: 100, pattern: '^[\\x20-\\x7e]*$' } as const;

const SECRETS = [
  object({ secret: secretName, prefix }, ['secret']),
  object({ secret_file: secretFile, prefix }, ['secret_file']),
] as const;

const headersOf = (...values: readonly object[]): object => ({
  type: 'object',
  maxProperties: 32,
  propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" },
  additionalProperties: { anyOf: [literal, ...SECRETS, ...values] },
});

const COMMON = {
  name,
  description: { type: 'string', maxLength: 4_096 },
  enabled: { type: 'boolean' },
  tenants: { type: 'array', items: name, uniqueItems: true, maxItems: 1_000 },
  timeout_seconds: { type: 'integer', minimum: 1, maximum: MAX_SECONDS },
};

const REQUEST = object(
  {
    method: { enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    url: { type: 'string', maxLength: 2_000 },
    headers: headersOf(object({ argument }, ['argument'])),
    json: true,
    form: {
      type: 'object',
      maxProperties: 64,
      additionalProperties: { anyOf: [literal, object({ argument }, ['argument'])] },
    },
  },
  ['url'],
);

const RESPONSE = object({
  format: { enum: ['json', 'text'] },
  max_bytes: { type: 'integer', minimum: 1, maximum: MAX_BYTES },
  pick: { type: 'string', maxLength: 500, pattern: '^(/([^~/]|~[01])*)*$' },
  success: { type: 'array', items: { type: 'integer', minimum: 200, maximum: 599 }, minItems: 1, maxItems: 20 },
});

const HTTP = object(
  {
    id: { type: 'string', pattern: TOOL_ID, maxLength: 64 },
    kind: { const: 'http' },
    ...COMMON,
    parameters: { type: 'object' },
    idempotent: { type: 'boolean' },
    request: REQUEST,
    response: RESPONSE,
  },
  ['id', 'kind', 'description', 'request'],
);

const MCP = object(
  {
    id: { type: 'string', pattern: SERVER_ID },
    kind: { const: 'mcp' },
    ...COMMON,
    url: { type: 'string', maxLength: 2_000 },
    headers: headersOf(),
    command: { type: 'string', minLength: 1, maxLength: 1_000 },
    args: { type: 'array', items: { type: 'string', maxLength: 4_096 }, maxItems: 100 },
    env: {
      type: 'object',
      maxProperties: 64,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,100}$' },
      additionalProperties: { anyOf: [{ type: 'string', maxLength: 4_096 }, ...SECRETS] },
    },
    cwd: { type: 'string', maxLength: 1_000 },
    tools: { type: 'array', items: name, uniqueItems: true, maxItems: 256 },
    idempotent: { type: 'array', items: name, uniqueItems: true, maxItems: 256 },
    trust: { enum: ['hold', 'auto'] },
    refresh_seconds: { type: 'integer', minimum: 5, maximum: 86_400 },
    max_bytes: { type: 'integer', minimum: 1, maximum: MAX_BYTES },
  },
  ['id', 'kind'],
);

/** JSON Schemas of one declaration, in the file and over the API, by its kind. */
export const TOOL_DECLARATIONS = { http: HTTP, mcp: MCP } as const;

/** JSON Schema of any declaration. */
export const TOOL_DECLARATION = { oneOf: [HTTP, MCP] };
