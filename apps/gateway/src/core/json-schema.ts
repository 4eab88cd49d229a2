import { pointerTo } from '#lib/domain';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

/** What a value breaks of its schema. `path` is a JSON Pointer below the value, '' for the value itself. */
export interface SchemaFault {
  readonly path: string;
  readonly message: string;
}

/** Faults of a value, none when it satisfies the schema. */
export type SchemaCheck = (value: unknown) => readonly SchemaFault[];

/** More faults than this say nothing new. */
const MAX_FAULTS = 20;

/** Compiles a JSON Schema (2020-12). @throws Error when it is no such schema. */
export function compileSchema(schema: object): SchemaCheck {
  // An instance of its own: schemas of different agents may use the same $id.
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false });
  const validate = ajv.compile(schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []).slice(0, MAX_FAULTS).map(faultOf));
}

/** References are not inlined, or a small schema could become a large program. */
const FOREIGN = {
  strict: false,
  validateFormats: false,
  inlineRefs: false,
  unicodeRegExp: false,
  logger: false,
} as const;
const dialect = new Ajv2020({ ...FOREIGN, allErrors: true });

/** Schemas found to be good, by their text: callers send the same ones again and again. */
const sound = new Set<string>();
const MAX_SOUND = 256;

/** Faults of a JSON Schema that a caller sent, whatever dialect it names; none when it can be used. */
export function faultsOfSchema(schema: Readonly<Record<string, unknown>>): readonly SchemaFault[] {
  const text = JSON.stringify(schema);
  if (sound.has(text)) return [];
  if (Object.hasOwn(schema, '$async')) return [{ path: '/$async', message: 'is not a known field' }];
  const { $schema: _dialect, ...readable } = schema;
  if (!dialect.validateSchema(readable)) return (dialect.errors ?? []).slice(0, MAX_FAULTS).map(faultOf);
  try {
    // An instance of its own, for what it is given it keeps: its ids would meet those of other callers.
    new Ajv2020({ ...FOREIGN, meta: false, validateSchema: false }).compile(readable);
  } catch {
    return [{ path: '', message: 'cannot be used: it has a reference or a pattern that leads nowhere' }];
  }
  if (sound.size >= MAX_SOUND) sound.clear();
  sound.add(text);
  return [];
}

function faultOf({ instancePath, keyword, params, message }: ErrorObject): SchemaFault {
  if (keyword === 'additionalProperties') {
    const { additionalProperty } = params as { additionalProperty: string };
    return { path: `${instancePath}${pointerTo(additionalProperty)}`, message: 'is not a known field' };
  }
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string };
    return { path: `${instancePath}${pointerTo(missingProperty)}`, message: 'is missing' };
  }
  if (keyword === 'enum') {
    const { allowedValues } = params as { allowedValues: readonly unknown[] };
    return { path: instancePath, message: `must be one of ${allowedValues.join(', ')}` };
  }
  return { path: instancePath, message: message ?? 'is not valid' };
}
