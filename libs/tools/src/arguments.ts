import type { Tool } from './contract/tool.js';
import { compileSchema, type SchemaCheck, type SchemaFault } from './schemas.js';

/** More are compiled anew. */
const MAX_CHECKS = 1_000;

/** Compiled schemas by the version of their tool. */
const checks = new Map<string, SchemaCheck>();

type Checked = Pick<Tool, 'version' | 'kind' | 'parameters'>;

/**
 * What is wrong with the arguments of a call; none when nothing is. Schemas are compiled once; ours strictly: one that says
 * something unknown, or nothing, is a mistake of ours and must not pass for a check.
 */
export function argumentFaults(tool: Checked, args: unknown): readonly SchemaFault[] {
  return checkOf(tool)(args);
}

/** The same as a sentence; undefined when nothing is wrong. */
export function argumentFault(tool: Checked, args: unknown): string | undefined {
  const [fault] = argumentFaults(tool, args);
  return fault && `${fault.path || 'The arguments'} ${fault.message}.`;
}

function checkOf(tool: Checked): SchemaCheck {
  const known = checks.get(tool.version);
  if (known) return known;
  const check = compiled(tool);
  if (checks.size >= MAX_CHECKS) checks.clear();
  checks.set(tool.version, check);
  return check;
}

function compiled({ kind, parameters }: Checked): SchemaCheck {
  try {
    return compileSchema(parameters, { strict: kind === 'builtin' });
  } catch {
    return () => [{ path: '', message: 'cannot be checked: the schema of the tool cannot be used' }];
  }
}
