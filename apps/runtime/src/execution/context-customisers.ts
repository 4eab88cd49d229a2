import type { Claim } from '#lib/domain';

/** Values a run is told by name, beside its context; never shown to a model. */
export type ContextValues = Readonly<Record<string, unknown>>;

/**
 * Adds values to what a run is told: called on every run, with those that are there already. What it answers is laid over
 * them. One that throws fails the task.
 */
export type ContextCustomiser = (values: ContextValues, claim: Claim) => ContextValues;

/** The one key under which a caller's attributes travel as a whole; absent when there are none. */
export const ATTRIBUTES = 'agentprotocol.context.attributes';

/** Names that frameworks keep for themselves: a caller's attribute must not come to stand for one of them. */
const RESERVED = /^(?:agentId|outboundAddress)$|^(?:agentscope|agui|io\.agentscope|agentprotocol)\.|^\s*$/;

/** True for a name that no attribute may be promoted to. */
export function isReservedName(name: string): boolean {
  return RESERVED.test(name);
}

/** Copies the attributes of these names beside the map they are in; reserved names are left out. */
export function promoteAttributes(names: readonly string[]): ContextCustomiser {
  const promoted = names.filter((name) => !isReservedName(name));
  return (values) => {
    const attributes = (values[ATTRIBUTES] ?? {}) as ContextValues;
    return Object.fromEntries(
      promoted.filter((name) => Object.hasOwn(attributes, name)).map((name) => [name, attributes[name]]),
    );
  };
}

/** What a run is told: the attributes of its context, and what each customiser in turn makes of them; later ones win. */
export function contextValues(
  claim: Claim,
  attributes: unknown,
  customisers: readonly ContextCustomiser[],
): ContextValues {
  return customisers.reduce<ContextValues>(
    (values, customise) => Object.freeze({ ...values, ...customise(values, claim) }),
    Object.freeze(attributesOf(attributes)),
  );
}

function attributesOf(attributes: unknown): ContextValues {
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) return {};
  const given = Object.entries(attributes).filter(([, value]) => value !== null);
  return given.length === 0 ? {} : { [ATTRIBUTES]: Object.freeze(Object.fromEntries(given)) };
}
