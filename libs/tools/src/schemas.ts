import { canonicalJson, pointerTo } from '#lib/domain';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { _, type KeywordCxt } from 'ajv/dist/core.js';
import reference from 'ajv/dist/vocabularies/core/ref.js';
import type { PatternError } from './patterns.js';
import { compilePattern, parsePattern } from './patterns.js';

/** What a value breaks of its schema. `path` is a JSON Pointer below the value, '' for the value itself. */
export interface SchemaFault {
  readonly path: string;
  readonly message: string;
}

/** Faults of a value, none when it satisfies the schema. Never throws: what cannot be checked is a fault. */
export type SchemaCheck = (value: unknown) => readonly SchemaFault[];

/** How a schema is read. */
export interface SchemaTerms {
  /** Words the language does not know are faults of the schema; otherwise they say nothing, as the standard has it. */
  readonly strict?: boolean;
  /** The schema is only handed on: patterns have to be patterns, and need not be ones that are evaluated here. */
  readonly handedOn?: boolean;
  /** Every fault of a value is told, not only the first: of schemas that nobody can have made to cost. */
  readonly all?: boolean;
  /** References one check may follow; by default 100,000. */
  readonly steps?: number;
}

/** A schema that cannot be used. `faults` are paths below the schema. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';

  constructor(
    readonly faults: readonly SchemaFault[],
    details: { readonly cause?: unknown } = {},
  ) {
    super(faults.map(({ path, message }) => `${path || 'the schema'} ${message}`).join('; '), details);
  }
}

/** More faults than this say nothing new. */
const MAX_FAULTS = 20;
/** Units of UTF-16 of a schema as JSON, levels and values in it: what compiling it may cost. */
const MAX_LENGTH = 65_536;
const MAX_DEPTH = 64;
const MAX_VALUES = 8_000;
const STEPS = 100_000;

/**
 * References are not inlined, or a small schema could become a large program, and none could be counted. A value has the
 * members it was given, and none of those that every object has.
 */
const OWN = { ownProperties: true } as const;
const FOREIGN = { ...OWN, validateFormats: false, inlineRefs: false, unicodeRegExp: false, logger: false } as const;
const dialect = new Ajv2020({ ...FOREIGN, strict: false, allErrors: true });

const UNCHECKED: SchemaFault = { path: '', message: 'cannot be checked: its schema asks for too much' };

/** References the check that is running may still follow. Checks do not wait, so there is one at a time. */
let left = 0;

/**
 * Compiles a JSON Schema (2020-12, whatever dialect it names) that may come from anywhere: bounded in size, its patterns
 * without backtracking, and its checks bounded in work however it refers to itself.
 * @throws SchemaError
 */
export function compileSchema(schema: object, terms: SchemaTerms = {}): SchemaCheck {
  const { readable, places } = read(schema);
  const validate = compile(readable, terms, places);
  const { steps = STEPS } = terms;
  return (value) => {
    left = steps;
    try {
      return validate(value) ? [] : faultsIn(validate.errors);
    } catch {
      return [UNCHECKED];
    }
  };
}

/** Whether a value satisfies a schema. @throws SchemaError when that cannot be told */
export type Condition = (value: unknown) => boolean;

/** Compiles a condition, strictly: one with a word that is misspelled would hold of everything. @throws SchemaError */
export function compileCondition(schema: object): Condition {
  const { readable, places } = read(schema);
  const validate = compile(readable, { strict: true }, places);
  return (value) => {
    left = STEPS;
    try {
      return validate(value) === true;
    } catch (cause) {
      throw new SchemaError([UNCHECKED], { cause });
    }
  };
}

/** Schemas found to be good, by their text: callers send the same ones again and again. */
const sound = new Set<string>();
const MAX_SOUND = 256;

/** Faults of a schema that is handed on; none when it can be used. */
export function faultsOfSchema(schema: object): readonly SchemaFault[] {
  const text = JSON.stringify(schema);
  if (sound.has(text)) return [];
  try {
    compileSchema(schema, { handedOn: true });
  } catch (error) {
    if ((error as Error).name === 'SchemaError') return (error as SchemaError).faults;
    throw error;
  }
  if (sound.size >= MAX_SOUND) sound.clear();
  sound.add(text);
  return [];
}

function read(schema: object): { readonly readable: object; readonly places: ReadonlyMap<string, string> } {
  if (JSON.stringify(schema).length > MAX_LENGTH)
    throw new SchemaError([{ path: '', message: `must be at most ${MAX_LENGTH} characters of JSON` }]);
  if (Object.hasOwn(schema, '$async')) throw new SchemaError([{ path: '/$async', message: 'is not a known field' }]);
  const places = new Map<string, string>();
  measure(schema, '', { places, values: 0, depth: 0 });
  const { $schema: _dialect, ...readable } = schema as { readonly $schema?: unknown };
  if (!dialect.validateSchema(readable)) throw new SchemaError(onePerPath((dialect.errors ?? []).map(faultOf)));
  return { readable, places };
}

/** A word that may be this or that breaks both. */
function onePerPath(faults: readonly SchemaFault[]): readonly SchemaFault[] {
  return [...new Map(faults.toReversed().map((fault) => [fault.path, fault])).values()].reverse().slice(0, MAX_FAULTS);
}

interface Measured {
  /** Where each pattern is first. */
  readonly places: Map<string, string>;
  values: number;
  depth: number;
}

/** @throws SchemaError for a schema that is too deep or holds too much. */
function measure(value: unknown, path: string, seen: Measured): void {
  seen.values += 1;
  if (seen.values > MAX_VALUES)
    throw new SchemaError([{ path: '', message: `must hold at most ${MAX_VALUES} values` }]);
  if (typeof value !== 'object' || value === null) return;
  seen.depth += 1;
  if (seen.depth > MAX_DEPTH) throw new SchemaError([{ path, message: `must be at most ${MAX_DEPTH} levels deep` }]);
  for (const [key, item] of Object.entries(value as Readonly<Record<string, unknown>>)) {
    const place = path + pointerTo(key);
    if (key === '__proto__') throw new SchemaError([{ path: place, message: 'is not a known field' }]);
    const pattern = key === 'pattern' ? item : path.endsWith('/patternProperties') ? key : undefined;
    if (typeof pattern === 'string' && !seen.places.has(pattern)) seen.places.set(pattern, place);
    measure(item, place, seen);
  }
  seen.depth -= 1;
}

/** The same at the first check: for schemas of our own, which are known to be good and of which most processes use few. */
export function compileLater(schema: object, terms: SchemaTerms = {}): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => (check ??= compileSchema(schema, terms))(value);
}

function compile(
  schema: object,
  terms: SchemaTerms,
  places: ReadonlyMap<string, string>,
): ReturnType<Ajv2020['compile']> {
  try {
    return instance(terms).compile(schema);
  } catch (error) {
    if ((error as Error).name === 'PatternError') {
      const { pattern, message } = error as PatternError;
      throw new SchemaError([{ path: places.get(pattern) ?? '', message }]);
    }
    const { message } = error as Error;
    const why = message.startsWith('strict mode: ') ? message.slice(0, 200) : 'it has a reference that leads nowhere';
    throw new SchemaError([{ path: '', message: `cannot be used: ${why}` }], { cause: error });
  }
}

/** One per schema: what an instance is given it keeps, and ids of different schemas would meet. */
function instance({ strict = false, handedOn = false, all = false }: SchemaTerms): Ajv2020 {
  const read = handedOn ? parsePattern : compilePattern;
  const engine = Object.assign((pattern: string) => read(pattern), { code: '' });
  const words = strict ? { strict: true, strictTypes: false, strictRequired: false } : { strict: false };
  const ajv = new Ajv2020({
    ...FOREIGN,
    ...words,
    code: { regExp: engine },
    allErrors: all,
    meta: false,
    validateSchema: false,
  });
  const { default: definition } = reference as unknown as { readonly default: typeof reference.default };
  return ajv
    .removeKeyword('$ref')
    .addKeyword({ ...definition, code: (cxt: KeywordCxt) => (countStep(cxt), definition.code(cxt)) })
    .removeKeyword('$dynamicRef')
    .removeKeyword('$recursiveRef')
    .addKeyword({ keyword: ['$dynamicRef', '$recursiveRef'], compile: refuseDynamic })
    .removeKeyword('uniqueItems')
    .addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: hasUniqueItems })
    .addVocabulary(['x-secret', 'example']);
}

/** Whatever a schema repeats, it does by reference: that is where its work is counted. */
function countStep({ gen }: KeywordCxt): void {
  gen.code(_`${gen.scopeValue('func', { ref: step })}()`);
}

function step(): void {
  left -= 1;
  if (left < 0) throw new RangeError('a check takes too many steps');
}

/** Where it leads depends on the way there, so it cannot be told what it costs. */
function refuseDynamic(): never {
  throw new Error('$dynamicRef is not followed');
}

/** In proportion to the items; comparing each with each is not. */
function hasUniqueItems(isAsked: boolean, items: readonly unknown[]): boolean {
  return !isAsked || new Set(items.map((item) => canonicalJson(item))).size === items.length;
}

/** That a branch does not hold says no more than what is wrong in it. */
function faultsIn(errors: readonly ErrorObject[] | null | undefined): readonly SchemaFault[] {
  return (errors ?? [])
    .filter(({ keyword }) => keyword !== 'if')
    .slice(0, MAX_FAULTS)
    .map(faultOf);
}

function faultOf({ instancePath, keyword, params, message }: ErrorObject): SchemaFault {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const unknown = Object.values(params as Readonly<Record<string, string>>)[0] ?? '';
    return { path: `${instancePath}${pointerTo(unknown)}`, message: 'is not a known field' };
  }
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string };
    return { path: `${instancePath}${pointerTo(missingProperty)}`, message: 'is missing' };
  }
  if (keyword === 'enum') {
    const { allowedValues } = params as { allowedValues: readonly unknown[] };
    return { path: instancePath, message: `must be one of ${allowedValues.join(', ')}` };
  }
  if (keyword === 'uniqueItems') return { path: instancePath, message: 'must not hold an item twice' };
  return { path: instancePath, message: message ?? 'is not valid' };
}
