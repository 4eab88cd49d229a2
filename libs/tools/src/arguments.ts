import { BUILTIN_TOOLS } from './builtin/catalog.js';
import { compileSchema, type SchemaCheck } from './schemas.js';

type Schema = Readonly<Record<string, unknown>>;

const checks = new Map<string, SchemaCheck>();

/** JSON Schema of the arguments of a tool we know; undefined for any other name. */
export function toolParameters(toolName: string): Schema | undefined {
  return BUILTIN_TOOLS.get(toolName)?.parameters;
}

/**
 * What is wrong with the arguments of a call, as a sentence; undefined when nothing is. Schemas are compiled once, and
 * strictly: one that says something unknown, or nothing, is a mistake of ours and must not pass for a check.
 */
export function argumentFault(
  tool: { readonly name: string; readonly parameters: Schema },
  args: unknown,
): string | undefined {
  let check = checks.get(tool.name);
  if (!check) {
    check = compileSchema(tool.parameters, { strict: true });
    checks.set(tool.name, check);
  }
  const [fault] = check(args);
  return fault && `${fault.path || 'The arguments'} ${fault.message}.`;
}
