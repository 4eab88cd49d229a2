import { type ToolClient, type ToolDescription, ToolError } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import { BUILTIN_TOOLS, type BuiltinTool } from '#lib/tools';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

const checks = new Map<string, ValidateFunction>();

function checkOf({ name, parameters }: BuiltinTool): ValidateFunction {
  const known = checks.get(name);
  if (known) return known;
  const check = new Ajv2020({ strict: false, logger: false }).compile(parameters);
  checks.set(name, check);
  return check;
}

/** The built-in tools an agent's declaration names; every other tool is denied. */
export function builtinTools(claim: Claim, signal: AbortSignal): ToolClient {
  const tools = claim.policy.tools.flatMap((name) => BUILTIN_TOOLS.get(name) ?? []);
  return {
    list: tools.map(describe),
    call: async (name, args) => {
      const tool = tools.find((known) => known.name === name);
      if (!tool) throw new ToolError('denied', `The agent has no tool ${name.slice(0, 64)}.`);
      const check = checkOf(tool);
      if (!check(args)) {
        const [fault] = check.errors ?? [];
        throw new ToolError('invalid_arguments', `${fault?.instancePath || 'The arguments'} ${fault?.message ?? ''}.`);
      }
      try {
        const input = JSON.parse(claim.input) as unknown;
        return await tool.execute(args as Readonly<Record<string, unknown>>, { input, signal });
      } catch (cause) {
        signal.throwIfAborted();
        throw new ToolError('failed', (cause as Error).message, { cause });
      }
    },
  };
}

function describe({ name, description, parameters, idempotent }: BuiltinTool): ToolDescription {
  return { name, description, parameters, idempotent };
}
