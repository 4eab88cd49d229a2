import { pointerTo } from '#lib/domain';

type Schema = Readonly<Record<string, unknown>>;

/** Levels of a schema that are looked at: arguments deeper than this are not told apart. */
const MAX_DEPTH = 16;

/**
 * JSON Pointers of the arguments a schema marks as secret, by `"writeOnly": true` (JSON Schema 2020-12, 9.4) or
 * `"x-secret": true`. Of an array whose items are marked, the array itself.
 */
export function secretFieldsOf(schema: Schema): readonly string[] {
  return fieldsBelow(schema, '', 0);
}

function fieldsBelow(schema: unknown, path: string, depth: number): string[] {
  if (!isObject(schema) || depth > MAX_DEPTH) return [];
  if (schema['writeOnly'] === true || schema['x-secret'] === true) return [path];
  const own = Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).flatMap(([name, below]) =>
    fieldsBelow(below, path + pointerTo(name), depth + 1),
  );
  const items = fieldsBelow(schema['items'], path, depth + 1).length > 0 ? [path] : [];
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) => {
    const list = schema[word];
    return Array.isArray(list) ? list.flatMap((below) => fieldsBelow(below, path, depth + 1)) : [];
  });
  return [...new Set([...own, ...items, ...parts])];
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
