/**
 * What a JSON merge patch makes of a value (RFC 7396, section 2): members of the patch replace those of the value, `null`
 * removes them, objects are merged member by member, anything else replaces the value whole. Neither is changed.
 */
export function applyMergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(value) ? value : {}));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) members.delete(name);
    else members.set(name, applyMergePatch(members.get(name), change));
  }
  return Object.fromEntries(members);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
