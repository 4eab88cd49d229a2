import { pointerTo, valueAt } from '#lib/domain';

type Schema = Readonly<Record<string, unknown>>;

/** Parts of a schema that are looked at, and how deep: arguments beyond are hidden whole. */
const MAX_PARTS = 2_000;
const MAX_DEPTH = 16;
const MARKS = ['writeOnly', 'x-secret'] as const;

/** Words whose schemas are about the value itself: one, a list, or several by name. */
const SAME = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not'] as const;
/** About the items of an array, which are not told apart. */
const ITEMS = ['items', 'prefixItems', 'contains', 'unevaluatedItems'] as const;
/** About members whose names are not known beforehand. */
const MEMBERS = ['additionalProperties', 'unevaluatedProperties'] as const;

/**
 * JSON Pointers of the arguments a schema marks as secret, by `"writeOnly": true` (JSON Schema 2020-12, 9.4) or
 * `"x-secret": true`, wherever it says so, also by reference. Of an array whose items are marked, the array itself; `*`
 * stands for members without a name of their own. What such a schema repeats without end, or says by a reference that is
 * not followed here, is secret as a whole.
 */
export function secretFieldsOf(schema: Schema): readonly string[] {
  return hasMark(schema) ? [...new Set(new Search(schema).below(schema, '', []))] : [];
}

function hasMark(schema: Schema): boolean {
  const text = JSON.stringify(schema);
  return MARKS.some((mark) => text.includes(`"${mark}":true`));
}

class Search {
  private left = MAX_PARTS;

  constructor(private readonly root: Schema) {}

  /** `refs`: the references on the way here. */
  below(schema: unknown, path: string, refs: readonly string[], depth = 0): readonly string[] {
    if (!isObject(schema)) return [];
    this.left -= 1;
    if (this.left < 0 || depth > MAX_DEPTH || MARKS.some((mark) => schema[mark] === true)) return [path];
    const on = (part: unknown, place = path): readonly string[] => this.below(part, place, refs, depth + 1);
    const items = ITEMS.some((word) => eachOf(schema[word]).some((part) => on(part).length > 0));
    return [
      ...entriesOf(schema['properties']).flatMap(([name, part]) => on(part, path + pointerTo(name))),
      ...(items ? [path] : []),
      ...SAME.flatMap((word) => eachOf(schema[word]).flatMap((part) => on(part))),
      ...entriesOf(schema['dependentSchemas']).flatMap(([, part]) => on(part)),
      ...entriesOf(schema['patternProperties']).flatMap(([, part]) => on(part, `${path}/*`)),
      ...MEMBERS.flatMap((word) => on(schema[word], `${path}/*`)),
      ...this.referred(schema['$ref'], path, refs, depth),
    ];
  }

  private referred(ref: unknown, path: string, refs: readonly string[], depth: number): readonly string[] {
    if (typeof ref !== 'string') return [];
    const target = /^#(?:\/|$)/.test(ref) && !refs.includes(ref) ? valueAt(this.root, fragmentOf(ref)) : undefined;
    return target === undefined ? [path] : this.below(target, path, [...refs, ref], depth + 1);
  }
}

/** A JSON Pointer as it stands in a URI (RFC 6901, 6). */
function fragmentOf(ref: string): string {
  try {
    return decodeURIComponent(ref.slice(1));
  } catch {
    return '/';
  }
}

function eachOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
