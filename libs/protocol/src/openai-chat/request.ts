import { z } from 'zod';
import { type Fault, faulty, pointerOf } from '#lib/domain';
import { type ChatMessage, faultsOfCalls, messageSchema } from './messages.js';

/** Messages of one conversation, at most. */
const MAX_MESSAGES = 4_096;

const toolSchema = z.object({
  type: z.literal('function', { error: 'must be function: there are no other tools here' }),
  function: z.object({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

/** Members nobody knows are passed over: newer clients send more, and their helpers send back what they made of ours. */
const bodySchema = z.object({
  model: z.string().min(1).max(300),
  messages: z.array(messageSchema).min(1).max(MAX_MESSAGES),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(toolSchema).max(128).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

type Body = z.infer<typeof bodySchema>;

/** A function of the client's own. */
export type FunctionTool = z.infer<typeof toolSchema>['function'];

/** A request (API reference, "Create chat completion") whose form is right. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  /** None where the client wants none to be called. */
  readonly tools: readonly FunctionTool[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** @throws DomainError `invalid_request` with the path of every fault, its code one that clients know. */
export function decodeRequest(value: unknown): ChatRequest {
  const parsed = bodySchema.safeParse(value);
  if (!parsed.success)
    throw faulty(
      'invalid_request',
      parsed.error.issues.map((issue) => faultOf(issue, value)),
    );
  const faults = [
    ...faultsOfParameters(value as Members),
    ...faultsOfOptions(parsed.data),
    ...faultsOfCalls(parsed.data.messages),
  ];
  if (faults.length > 0) throw faulty('invalid_request', faults);
  const { model, messages, stream, stream_options, tools, tool_choice, metadata } = parsed.data;
  return {
    model,
    messages,
    isStream: stream ?? false,
    includesUsage: stream_options?.include_usage ?? false,
    tools: tool_choice === 'none' ? [] : (tools ?? []).map((tool) => tool.function),
    metadata: metadata ?? {},
  };
}

function faultOf({ path, message }: z.core.$ZodIssue, value: unknown): Fault {
  const isMissing = path.reduce<unknown>((at, key) => own(at, key), value) == null;
  return {
    path: pointerOf(path),
    code: isMissing ? 'missing_required_parameter' : 'invalid_value',
    message: isMissing ? 'is required' : sentence(message),
  };
}

function own(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined;
}

function sentence(message: string): string {
  return message.replace(/^Invalid input: expected (.*), received (.*)$/, 'must be $1, not $2');
}

function faultsOfOptions({ stream, stream_options }: Body): readonly Fault[] {
  if (stream_options == null || stream === true) return [];
  return [{ path: '/stream_options', code: 'invalid_value', message: 'is for streams only' }];
}

type Members = Readonly<Record<string, unknown>>;

/** What an agent cannot do, by parameter: whether a value asks for it. What asks for nothing is passed over. */
const REFUSED: Readonly<Record<string, (value: unknown) => boolean>> = {
  logprobs: (value) => value === true,
  top_logprobs: (value) => value !== 0,
  audio: () => true,
  modalities: (value) => !Array.isArray(value) || value.some((one) => one !== 'text'),
  prediction: () => true,
  web_search_options: () => true,
  functions: (value) => !Array.isArray(value) || value.length > 0,
  function_call: (value) => value !== 'none',
};

function faultsOfParameters(body: Members): readonly Fault[] {
  const refused = Object.entries(REFUSED)
    .filter(([name, asks]) => own(body, name) != null && asks(own(body, name)))
    .map(([name]) => fault(name, 'unsupported_parameter', 'is not supported'));
  const n = own(body, 'n');
  if (n != null && n !== 1) refused.push(fault('n', 'unsupported_value', 'must be 1: an agent answers once'));
  if (own(own(body, 'response_format'), 'type') === 'json_schema') {
    refused.push(fault('response_format', 'unsupported_value', 'of type json_schema is nothing these agents can keep'));
  }
  return refused;
}

function fault(name: string, code: string, message: string): Fault {
  return { path: `/${name}`, code, message };
}
