import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { BUILTIN_TOOLS } from './builtin/catalog.js';

type Schema = Readonly<Record<string, unknown>>;

/** Strict: a schema that says something unknown, or nothing, is a mistake of ours and must not pass for a check. */
const ajv = new Ajv2020({ strict: true, allErrors: false, logger: false });
const checks = new Map<string, ValidateFunction>();

/** JSON Schema of the arguments of a tool we know; undefined for any other name. */
export function toolParameters(toolName: string): Schema | undefined {
  return BUILTIN_TOOLS.get(toolName)?.parameters;
}

/** What is wrong with the arguments of a call, as a sentence; undefined when nothing is. Schemas are compiled once. */
export function argumentFault(
  tool: { readonly name: string; readonly parameters: Schema },
  args: unknown,
): string | undefined {
  let check = checks.get(tool.name);
  if (!check) {
    check = ajv.compile(tool.parameters);
    checks.set(tool.name, check);
  }
  if (check(args)) return undefined;
  const [fault] = check.errors ?? [];
  return `${fault?.instancePath || 'The arguments'} ${fault?.message ?? 'are not what the tool takes'}.`;
}
