import type { ArgumentsCheck } from '#lib/domain';
import { toolParameters, compileSchema, type SchemaCheck } from '#lib/tools';

const checks = new Map<string, SchemaCheck>();

/** Checks arguments that somebody changed. Those of a tool whose schema is not known here are left to the tool. */
export const checkArguments: ArgumentsCheck = (toolName, args) => checkOf(toolName)?.(args) ?? [];

function checkOf(toolName: string): SchemaCheck | undefined {
  const known = checks.get(toolName);
  if (known) return known;
  const parameters = toolParameters(toolName);
  if (!parameters) return undefined;
  const check = compileSchema(parameters);
  checks.set(toolName, check);
  return check;
}
