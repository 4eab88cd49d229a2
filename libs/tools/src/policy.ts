import { pointerTo, rulesFor, TOOL_VERDICTS, type ToolPolicy, type ToolRule, type ToolVerdict } from '#lib/domain';
import { digestValue } from '#lib/platform';
import { compileCondition, type Condition, type SchemaError, type SchemaFault } from './schemas.js';

/** An agent's policy on tools, ready to judge calls. */
export interface CallPolicy {
  /** Digest of the policy as it is stored. */
  readonly version: string;
  /** What it says of one call. Undefined: it cannot be evaluated, and nothing may be done. */
  verdictOn(toolName: string, args: unknown): ToolVerdict | undefined;
}

/** Policies in use, by version: their conditions are programs. */
const compiled = new Map<string, CallPolicy>();
const MAX_COMPILED = 200;

/** Whatever is stored: one that makes no sense judges nothing. */
export function compilePolicy(policy: ToolPolicy = {}): CallPolicy {
  const version = digestValue(policy);
  const known = compiled.get(version);
  if (known) return known;
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  const made = { version, verdictOn: isPolicy(policy) ? judgeOf(policy) : (): undefined => undefined };
  compiled.set(version, made);
  return made;
}

function judgeOf(policy: ToolPolicy): CallPolicy['verdictOn'] {
  const conditions = new Map<ToolRule, Condition>();
  const holds = (rule: ToolRule, args: unknown): boolean => {
    if (rule.when === undefined) return true;
    const condition = conditions.get(rule) ?? compileCondition(rule.when);
    conditions.set(rule, condition);
    return condition(args);
  };
  return (toolName, args) => {
    try {
      // What no rule speaks of is denied.
      return rulesFor(toolName, policy).find((rule) => holds(rule, args))?.then ?? 'deny';
    } catch {
      return undefined;
    }
  };
}

/** What keeps a policy from being evaluated, by path below it; its form is checked before. */
export function policyFaults(policy: ToolPolicy): readonly SchemaFault[] {
  return Object.entries(policy).flatMap(([toolName, rules]) =>
    typeof rules === 'string' ? [] : rulesFaults(rules, pointerTo(toolName)),
  );
}

function rulesFaults(rules: readonly ToolRule[], path: string): readonly SchemaFault[] {
  const last = rules.findIndex(({ when }) => when === undefined);
  return rules.flatMap(({ when }, index) => {
    if (last >= 0 && index > last) return [{ path: `${path}/${index}`, message: 'is never reached' }];
    return when === undefined ? [] : conditionFaults(when, `${path}/${index}/when`);
  });
}

function conditionFaults(when: object, path: string): readonly SchemaFault[] {
  try {
    compileCondition(when);
    return [];
  } catch (error) {
    return (error as SchemaError).faults.map((fault) => ({ ...fault, path: path + fault.path }));
  }
}

function isPolicy(policy: unknown): policy is ToolPolicy {
  return isObject(policy) && Object.values(policy).every((rules) => isVerdict(rules) || isRules(rules));
}

function isRules(rules: unknown): boolean {
  return (
    Array.isArray(rules) &&
    rules.every((rule: unknown) => isObject(rule) && isVerdict(rule['then']) && isCondition(rule))
  );
}

function isCondition({ when }: Readonly<Record<string, unknown>>): boolean {
  return when === undefined || isObject(when);
}

function isVerdict(value: unknown): boolean {
  return (TOOL_VERDICTS as readonly unknown[]).includes(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
