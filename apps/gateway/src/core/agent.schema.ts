import {
  type ConfirmationSeconds,
  DEFAULT_CONFIRMATION_SECONDS,
  DETAILS,
  INPUT_MODES,
  ON_INTERRUPT,
  type OnInterrupt,
  SESSION_STRATEGIES,
  TOOL_VERDICTS,
  type ToolPolicy,
} from '#lib/domain';

/** Longest wait between two attempts, and longest grace, in seconds: a day. */
const DAY = 86_400;

const CONFIRMATION_KINDS = Object.keys(DEFAULT_CONFIRMATION_SECONDS);

const name = { type: 'string', minLength: 1, maxLength: 200 } as const;
const seconds = (min: number, max: number): object => ({ type: 'integer', minimum: min, maximum: max });
const object = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const POLICY = object({
  on_lost: { enum: ['resume', 'restart', 'fail'] },
  max_runs: { type: 'integer', minimum: 1, maximum: 100 },
  retries: object({
    attempts: { type: 'integer', minimum: 1, maximum: 100 },
    first_delay_seconds: seconds(0, DAY),
    max_delay_seconds: seconds(0, DAY),
  }),
  deadline_seconds: seconds(1, 2_592_000),
  grace_seconds: seconds(1, DAY),
  stall_seconds: seconds(10, 30 * DAY),
  heartbeat_seconds: seconds(1, DAY),
  // A number for all kinds, or one for each.
  confirmation_seconds: {
    type: ['integer', 'object'],
    minimum: 1,
    maximum: 30 * DAY,
    properties: Object.fromEntries(CONFIRMATION_KINDS.map((kind) => [kind, seconds(1, 30 * DAY)])),
    additionalProperties: false,
  },
  budgets: object({
    model_calls: { type: 'integer', minimum: 1 },
    tool_calls: { type: 'integer', minimum: 1 },
    tokens: { type: 'integer', minimum: 1 },
    wall_seconds: { type: 'integer', minimum: 1 },
  }),
  // A verdict on every call of a tool, or rules of which the first that holds counts.
  tools: {
    type: 'object',
    additionalProperties: {
      if: { type: 'array' },
      then: {
        items: object({ when: { type: 'object' }, then: { enum: TOOL_VERDICTS } }, ['then']),
        minItems: 1,
        maxItems: 100,
      },
      else: { enum: TOOL_VERDICTS },
    },
  },
  tool_limits: object({
    argument_bytes: { type: 'integer', minimum: 1, maximum: 1_073_741_824 },
    output_bytes: { type: 'integer', minimum: 1, maximum: 1_073_741_824 },
  }),
});

const ROUTE = object(
  {
    when: {
      type: 'object',
      properties: { type: name, tenant: name, user: name },
      patternProperties: { '^(context|attributes)\\..+$': true },
      additionalProperties: false,
      minProperties: 1,
    },
    tools: { type: 'array', items: name },
    backends: {
      type: 'array',
      minItems: 1,
      items: object(
        {
          runner: name,
          options: { type: 'object' },
          weight: { type: 'integer', minimum: 0, maximum: 1_000_000 },
          pool: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,31}$' },
        },
        ['runner'],
      ),
    },
  },
  ['backends'],
);

/** JSON Schema of one agent's declaration, in the file and over the API. */
export const AGENT_DECLARATION = object(
  {
    id: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' },
    name,
    description: { type: 'string', maxLength: 2_000 },
    enabled: { type: 'boolean' },
    default: { type: 'boolean' },
    tenants: { type: 'array', items: name },
    types: { type: 'array', items: name, uniqueItems: true },
    input_modes: { type: 'array', items: { enum: INPUT_MODES }, minItems: 1, uniqueItems: true },
    media_types: { type: 'array', items: { type: 'string', pattern: '^[\\w.+-]+/([\\w.+-]+|\\*)$' }, minItems: 1 },
    input_schema: { type: 'object' },
    tools: { type: 'array', items: name, uniqueItems: true },
    detail: { enum: DETAILS },
    session_strategy: { enum: SESSION_STRATEGIES },
    caller_instructions: { type: 'boolean' },
    chat: object({ on_interrupt: { enum: ON_INTERRUPT }, reasoning: { type: 'boolean' } }),
    policy: POLICY,
    routes: { type: 'array', minItems: 1, items: ROUTE },
  },
  ['id', 'description', 'routes'],
);

/** Names of the fields of a declaration. */
export const AGENT_FIELDS: ReadonlySet<string> = new Set(
  Object.keys((AGENT_DECLARATION as { readonly properties: object }).properties),
);

/** JSON Schema of the whole file; each tool is checked by its kind. */
export const AGENTS_FILE = object(
  { agents: { type: 'array', items: AGENT_DECLARATION }, tools: { type: 'array', maxItems: 1_000 } },
  ['agents'],
);

/** A declaration that satisfies the schema: the wire's spelling, everything optional that has a default. */
export interface AgentSource {
  readonly id: string;
  readonly name?: string;
  readonly description: string;
  readonly enabled?: boolean;
  readonly default?: boolean;
  readonly tenants?: readonly string[];
  readonly types?: readonly string[];
  readonly input_modes?: readonly (typeof INPUT_MODES)[number][];
  readonly media_types?: readonly string[];
  readonly input_schema?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly string[];
  readonly detail?: (typeof DETAILS)[number];
  readonly session_strategy?: (typeof SESSION_STRATEGIES)[number];
  readonly caller_instructions?: boolean;
  readonly chat?: { readonly on_interrupt?: OnInterrupt; readonly reasoning?: boolean };
  readonly policy?: PolicySource;
  readonly routes: readonly RouteSource[];
}

export interface RouteSource {
  readonly when?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly string[];
  readonly backends: readonly {
    readonly runner: string;
    readonly options?: Readonly<Record<string, unknown>>;
    readonly weight?: number;
    readonly pool?: string;
  }[];
}

export interface PolicySource {
  readonly on_lost?: 'resume' | 'restart' | 'fail';
  readonly max_runs?: number;
  readonly retries?: {
    readonly attempts?: number;
    readonly first_delay_seconds?: number;
    readonly max_delay_seconds?: number;
  };
  readonly deadline_seconds?: number;
  readonly grace_seconds?: number;
  readonly stall_seconds?: number;
  readonly heartbeat_seconds?: number;
  readonly confirmation_seconds?: number | Partial<ConfirmationSeconds>;
  readonly budgets?: {
    readonly model_calls?: number;
    readonly tool_calls?: number;
    readonly tokens?: number;
    readonly wall_seconds?: number;
  };
  readonly tools?: ToolPolicy;
  readonly tool_limits?: { readonly argument_bytes?: number; readonly output_bytes?: number };
}
