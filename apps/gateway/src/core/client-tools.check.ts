import { type ClientTool, type Fault, pointerTo } from '#lib/domain';
import { faultsOfSchema } from '#lib/tools';

/** Tools of a caller in one task, at most. */
const MAX_TOOLS = 64;
/** Units of UTF-16 in the JSON text of one schema, and of all tools together. */
const MAX_SCHEMA = 32_768;
const MAX_TEXT = 131_072;
const MAX_DESCRIPTION = 4_096;
/** What every model provider takes as the name of a function. */
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const FIELDS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  name: (value) =>
    typeof value === 'string' && NAME.test(value)
      ? undefined
      : 'must be 1 to 64 of A-Z a-z 0-9 _ - and begin with a letter or _',
  description: (value) =>
    value === undefined || (typeof value === 'string' && value.length <= MAX_DESCRIPTION)
      ? undefined
      : `must be a text of at most ${MAX_DESCRIPTION} characters`,
  parameters: (value) => (value === undefined || isObject(value) ? undefined : 'must be a JSON Schema'),
};
type SentTool = Pick<ClientTool, 'name'> & { readonly [K in 'description' | 'parameters']?: ClientTool[K] | null };

const NO_PARAMETERS = { type: 'object', properties: {} } as const;

/** Faults of the tools a caller brings along, by path below the list; none when they can be used. */
export function faultsOfClientTools(value: unknown): readonly Fault[] {
  if (!Array.isArray(value)) return [fault('', 'is_array', 'must be an array of tools')];
  if (value.length > MAX_TOOLS) return [fault('', 'array_max_size', `must be at most ${MAX_TOOLS} tools`)];
  if (JSON.stringify(value).length > MAX_TEXT)
    return [fault('', 'max_length', `must be at most ${MAX_TEXT} characters of JSON`)];
  const names = value.map((tool: unknown) => (isObject(tool) ? tool['name'] : undefined));
  return value.flatMap((tool: unknown, index) => {
    const faults = faultsOfTool(tool, `/${index}`);
    if (faults.length > 0 || names.indexOf(names[index]) === index) return faults;
    return [fault(`/${index}/name`, 'unique', 'is the name of a tool before it')];
  });
}

/** Tools that have no faults, complete with defaults. */
export function decodeClientTools(value: unknown): readonly ClientTool[] {
  return (value as readonly SentTool[]).map(({ name, description, parameters }) => ({
    name,
    description: description ?? '',
    parameters: parameters ?? NO_PARAMETERS,
  }));
}

function faultsOfTool(tool: unknown, path: string): readonly Fault[] {
  if (!isObject(tool)) return [fault(path, 'is_object', 'must be an object')];
  const unknown = Object.keys(tool).filter((key) => !Object.hasOwn(FIELDS, key));
  const faults = unknown.map((key) =>
    fault(path + pointerTo(key.slice(0, 100)), 'unknown_field', 'is not a field of a tool'),
  );
  for (const [field, check] of Object.entries(FIELDS)) {
    const message = check(own(tool, field));
    if (message !== undefined) faults.push(fault(`${path}/${field}`, 'invalid', message));
  }
  return faults.length > 0 ? faults : faultsOfParameters(own(tool, 'parameters'), `${path}/parameters`);
}

function faultsOfParameters(parameters: unknown, path: string): readonly Fault[] {
  if (!isObject(parameters)) return [];
  if (JSON.stringify(parameters).length > MAX_SCHEMA)
    return [fault(path, 'max_length', `must be at most ${MAX_SCHEMA} characters of JSON`)];
  // Arguments are named, always: no provider takes a schema of anything else.
  if (own(parameters, 'type') !== 'object') return [fault(`${path}/type`, 'is_in', 'must be "object"')];
  return faultsOfSchema(parameters).map((found) => fault(path + found.path, 'schema', found.message));
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? (value[key] ?? undefined) : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
