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
