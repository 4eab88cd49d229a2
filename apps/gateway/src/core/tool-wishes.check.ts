import { type Fault, faulty, pointerTo, type ToolWishes } from '#lib/domain';

/** Names or rules in one list, at most. */
const MAX_ITEMS = 1_000;
/** The exact name of a tool. What could be meant as a pattern is refused: taken as a name it would deny nothing. */
const TOOL_NAME = /^[^\s*?()[\]\p{Cc}\p{Cs}]{1,200}$/u;
const NAME_MESSAGE = 'must be the exact name of a tool; there are no patterns';

/** What a caller's context says of tools. */
export interface ReadWishes {
  readonly wishes: ToolWishes;
  /** What was understood in a stricter sense than it was meant. */
  readonly warnings: readonly Fault[];
}

const NOTHING: ReadWishes = { wishes: {}, warnings: [] };

/**
 * `allow_tools` and `deny_rules` of a context. A rule that cannot be read is never dropped.
 * @throws DomainError `invalid_request` with every fault.
 */
export function readToolWishes(context: Readonly<Record<string, unknown>>): ReadWishes {
  const allow = own(context, 'allow_tools');
  const rules = own(context, 'deny_rules');
  if (allow === undefined && rules === undefined) return NOTHING;
  const faults = [
    ...faultsOfList(allow, '/context/allow_tools', faultsOfName),
    ...faultsOfList(rules, '/context/deny_rules', faultsOfRule),
  ];
  if (faults.length > 0) throw faulty('invalid_request', faults);
  return {
    wishes: {
      ...(allow === undefined ? {} : { allow: allow as readonly string[] }),
      deny: ((rules ?? []) as readonly DenyRule[]).map((rule) => rule.tool_name),
    },
    warnings: ((rules ?? []) as readonly DenyRule[]).flatMap(warningOf),
  };
}

interface DenyRule {
  readonly tool_name: string;
  readonly rule_content?: string | null;
}

function warningOf({ tool_name, rule_content }: DenyRule, index: number): readonly Fault[] {
  if (rule_content == null || rule_content === '') return [];
  const path = `/context/deny_rules/${index}/rule_content`;
  return [{ path, code: 'whole_tool_denied', message: `is not interpreted: ${tool_name} is denied altogether` }];
}

function faultsOfList(
  list: unknown,
  path: string,
  faultsOf: (item: unknown, path: string) => readonly Fault[],
): readonly Fault[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) return [{ path, code: 'is_array', message: 'must be an array' }];
  if (list.length > MAX_ITEMS)
    return [{ path, code: 'array_max_size', message: `must have at most ${MAX_ITEMS} items` }];
  return list.flatMap((item: unknown, index) => faultsOf(item, `${path}/${index}`));
}

function faultsOfName(name: unknown, path: string): readonly Fault[] {
  return typeof name === 'string' && TOOL_NAME.test(name) ? [] : [{ path, code: 'invalid', message: NAME_MESSAGE }];
}

const RULE_FIELDS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  tool_name: (value) => (typeof value === 'string' && TOOL_NAME.test(value) ? undefined : NAME_MESSAGE),
  rule_content: textOrNothing,
  behavior: (value) =>
    value == null || (typeof value === 'string' && value.toLowerCase() === 'deny') ? undefined : 'must be deny',
  source: textOrNothing,
};

function textOrNothing(value: unknown): string | undefined {
  return value == null || (typeof value === 'string' && value.length <= 10_000) ? undefined : 'must be a text';
}

function faultsOfRule(rule: unknown, path: string): readonly Fault[] {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    return [{ path, code: 'is_object', message: 'must be an object with tool_name' }];
  const unknown = Object.keys(rule).filter((key) => !Object.hasOwn(RULE_FIELDS, key));
  const faults: Fault[] = unknown.map((key) => ({
    path: path + pointerTo(key.slice(0, 100)),
    code: 'unknown_field',
    message: 'is not a field of a rule',
  }));
  for (const [field, check] of Object.entries(RULE_FIELDS)) {
    const message = check(own(rule as Readonly<Record<string, unknown>>, field));
    if (message !== undefined) faults.push({ path: `${path}/${field}`, code: 'invalid', message });
  }
  return faults;
}

/** A member of its own; null asks for nothing. */
function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? (value[key] ?? undefined) : undefined;
}
