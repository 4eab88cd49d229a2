/** One reference token of a JSON Pointer, its slash included (RFC 6901, section 3). */
export function pointerTo(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Where a check of a body has found a fault; what others have named is shortened. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => pointerTo(String(key).slice(0, 100))).join('');
}

/** What a JSON Pointer leads to in a value; undefined when it leads nowhere (RFC 6901, section 4). */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const token of pointer.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null) return undefined;
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
    found = Object.hasOwn(found, key) ? (found as Readonly<Record<string, unknown>>)[key] : undefined;
  }
  return found;
}
