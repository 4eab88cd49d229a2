import {
  type AgentDeclaration,
  CALLER_CONVERSATION,
  type CallerConversation,
  type CallerMessage,
  type Fault,
  faulty,
  pointerTo,
} from '#lib/domain';

/** Messages on either side of the input, at most. */
const MAX_MESSAGES = 4_096;
const MAX_CALLS = 128;
const PATH = `/context/${CALLER_CONVERSATION}`;
const SIDES = ['before', 'after'] as const;

type Members = Readonly<Record<string, unknown>>;
type Check = (value: unknown, path: string) => readonly Fault[];

/**
 * The conversation in a context, if there is one.
 * @throws DomainError `invalid_request` with every fault.
 */
export function readCallerConversation(context: Members): CallerConversation | undefined {
  const value = own(context, CALLER_CONVERSATION);
  if (value === undefined) return undefined;
  const faults = faultsOfObject(value, PATH, { before: optional(messages), after: optional(messages) });
  if (faults.length > 0) throw faulty('invalid_request', faults);
  const { before, after } = value as Partial<CallerConversation>;
  return { before: before ?? [], after: after ?? [] };
}

/** @throws DomainError `unsupported_input` for instructions that the agent takes from nobody. */
export function checkInstructions(agent: AgentDeclaration, conversation: CallerConversation | undefined): void {
  if (!conversation || agent.callerInstructions === true) return;
  const message = `is refused: the agent ${agent.id} takes no instructions of callers`;
  const faults = SIDES.flatMap((side) =>
    conversation[side].flatMap(({ role }, index) =>
      role === 'system' ? [{ path: `${PATH}/${side}/${index}/role`, code: 'not_supported', message }] : [],
    ),
  );
  if (faults.length > 0) throw faulty('unsupported_input', faults);
}

const text: Check = (value, path) => (typeof value === 'string' ? [] : [fault(path, 'is_string', 'must be a string')]);
const label: Check = (value, path) =>
  typeof value === 'string' && value !== '' && value.length <= 200
    ? []
    : [fault(path, 'invalid', 'must be 1 to 200 characters')];
const present: Check = (value, path) => (value === undefined ? [fault(path, 'required', 'is required')] : []);

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? [] : check(value, path));
}

function listOf(check: Check, max: number): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return [fault(path, 'is_array', 'must be an array')];
    if (value.length > max) return [fault(path, 'array_max_size', `must have at most ${max} items`)];
    return value.flatMap((item: unknown, index) => check(item, `${path}/${index}`));
  };
}

const call: Check = (value, path) =>
  faultsOfObject(value, path, { tool_call_id: label, tool_name: label, arguments: present });

const FIELDS: Readonly<Record<CallerMessage['role'], Readonly<Record<string, Check>>>> = {
  system: { text },
  user: { text },
  assistant: { text: optional(text), tool_calls: optional(listOf(call, MAX_CALLS)) },
  tool: { tool_call_id: label, output: present },
};

const messages = listOf((value, path) => {
  const role = own(value, 'role');
  if (typeof role !== 'string' || !Object.hasOwn(FIELDS, role)) {
    return [fault(`${path}/role`, 'is_in', `must be one of ${Object.keys(FIELDS).join(', ')}`)];
  }
  return faultsOfObject(value, path, { role: text, ...FIELDS[role as CallerMessage['role']] });
}, MAX_MESSAGES);

function faultsOfObject(value: unknown, path: string, fields: Readonly<Record<string, Check>>): readonly Fault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [fault(path, 'is_object', 'must be an object')];
  }
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(fields, key));
  return [
    ...unknown.map((key) => fault(path + pointerTo(key.slice(0, 100)), 'unknown_field', 'is not known here')),
    ...Object.entries(fields).flatMap(([field, check]) => check(own(value, field), `${path}/${field}`)),
  ];
}

function own(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Members)[key] : undefined;
}

function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
