import { Allow, getMetadataStorage, validateSync } from 'class-validator';
import type { ValidationError } from 'class-validator';
import { faulty, pointerTo } from '#lib/domain';
import type { DomainError, Fault } from '#lib/domain';
import { isSound } from './sound-fields.js';

/** A class whose fields carry class-validator's decorators. */
export type Dto<T extends object> = new () => T;

const NESTED = Symbol('nested');
const NESTED_LIST = Symbol('nested list');
const OPEN = Symbol('open');

/** Items of one list of objects: checking each costs far more than reading it. */
const MAX_ITEMS = 1_000;

interface Shape {
  readonly fields: ReadonlySet<string>;
  readonly nested: ReadonlyMap<string, Dto<object>>;
  readonly lists: ReadonlyMap<string, Dto<object>>;
  readonly isOpen: boolean;
}

const shapes = new WeakMap<Dto<object>, Shape>();

/** A field whose content is the caller's own and is never looked into. */
export const Free = Allow;

/** A field that is an object of its own, checked by `dto`. Arrays are not objects. */
export function Nested(dto: Dto<object>): PropertyDecorator {
  return (target, property) => {
    Allow()(target, property);
    Reflect.defineMetadata(NESTED, dto, target, property);
  };
}

/** A field that is an array of such objects. */
export function NestedList(dto: Dto<object>): PropertyDecorator {
  return (target, property) => {
    Allow()(target, property);
    Reflect.defineMetadata(NESTED_LIST, dto, target, property);
  };
}

/** A class that checks the fields it names and takes any others. */
export function Open(): ClassDecorator {
  return (target) => Reflect.defineMetadata(OPEN, true, target);
}

/**
 * Checks `value` against the class and gives it back as it came: nothing is copied, converted or left out.
 *
 * @throws DomainError `invalid_request` with the JSON Pointer of every fault
 */
export function decodeDto<T extends object>(dto: Dto<T>, value: unknown): T {
  const faults = checkObject(dto, value, '');
  if (faults.length === 0) return value as T;
  throw invalid(faults);
}

/** The error of a request with these faults. */
export function invalid(faults: readonly Fault[]): DomainError {
  return faulty('invalid_request', faults);
}

function checkObject(dto: Dto<object>, value: unknown, path: string): Fault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ path, code: 'is_object', message: 'must be an object' }];
  }
  const shape = shapeOf(dto);
  const source = value as Readonly<Record<string, unknown>>;
  // Unknown keys never reach the instance: one called `constructor` would make the validator forget the class.
  const unknown = shape.isOpen ? [] : Object.keys(source).filter((key) => !shape.fields.has(key));
  const faults = unknown.map((key) => ({
    path: join(path, key),
    code: 'unknown_field',
    message: 'is not a field of this request',
  }));
  faults.push(...checkFields(dto, source, (field) => join(path, field)));
  const given = (field: string): unknown => (Object.hasOwn(source, field) ? (source[field] ?? undefined) : undefined);
  for (const [field, inner] of shape.nested) {
    const nested = given(field);
    if (nested !== undefined) faults.push(...checkObject(inner, nested, join(path, field)));
  }
  for (const [field, inner] of shape.lists) {
    const list = given(field);
    if (list !== undefined) faults.push(...checkList(inner, list, join(path, field)));
  }
  return faults;
}

function checkList(dto: Dto<object>, value: unknown, path: string): Fault[] {
  if (!Array.isArray(value)) return [{ path, code: 'is_array', message: 'must be an array' }];
  if (value.length > MAX_ITEMS) {
    return [{ path, code: 'array_max_size', message: `must have at most ${MAX_ITEMS} items` }];
  }
  return value.flatMap((item, index) => checkObject(dto, item, `${path}/${index}`));
}

/** Faults of the fields the class names. */
export function checkFields(
  dto: Dto<object>,
  source: Readonly<Record<string, unknown>>,
  pathOf: (field: string) => string,
): Fault[] {
  const instance = new dto() as Record<string, unknown>;
  for (const field of fieldsOf(dto)) if (Object.hasOwn(source, field)) instance[field] = source[field];
  if (isSound(instance)) return [];
  return validateSync(instance).map((error) => encodeFault(error, pathOf(error.property)));
}

/** Names of the fields of a class. */
export function fieldsOf(dto: Dto<object>): ReadonlySet<string> {
  return shapeOf(dto).fields;
}

/** One fault per field: that it is missing or of the wrong type matters more than its range. */
function encodeFault({ constraints = {}, property }: ValidationError, path: string): Fault {
  if (constraints['isDefined'] !== undefined) return { path, code: 'required', message: 'is required' };
  const rules = Object.keys(constraints);
  const rule = rules.find((name) => name.startsWith('is')) ?? rules[0] ?? 'invalid';
  const message = constraints[rule] ?? 'is not valid';
  const sentence = message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
  return { path, code: rule.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), message: sentence };
}

function shapeOf(dto: Dto<object>): Shape {
  const known = shapes.get(dto);
  if (known !== undefined) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  const fields = new Set(rules.map((rule) => rule.propertyName));
  const marked = (mark: symbol): Shape['nested'] =>
    new Map(
      [...fields].flatMap((field) => {
        const inner = Reflect.getMetadata(mark, dto.prototype as object, field) as Dto<object> | undefined;
        return inner === undefined ? [] : [[field, inner] as const];
      }),
    );
  const isOpen = Reflect.hasMetadata(OPEN, dto);
  const shape = { fields, nested: marked(NESTED), lists: marked(NESTED_LIST), isOpen };
  shapes.set(dto, shape);
  return shape;
}

function join(path: string, key: string): string {
  const segment = key.length > 100 ? `${key.slice(0, 100)}…` : key;
  return path + pointerTo(segment);
}
