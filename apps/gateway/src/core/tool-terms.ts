import {
  type AgentDeclaration,
  type ClientTool,
  effectiveTools,
  type Fault,
  faulty,
  type Routed,
  toolsOn,
} from '#lib/domain';
import { decodeClientTools, faultsOfClientTools } from './client-tools.check.js';
import type { RawJson } from './raw-json.js';
import { type ReadWishes, readToolWishes } from './tool-wishes.check.js';

/** What a request says of tools, before it is known which agent it goes to. */
export interface ToolRequest extends ReadWishes {
  readonly clientTools: readonly ClientTool[];
}

/** The tools of one task, as they are stored. */
export interface ToolTerms {
  readonly clientTools?: string;
  readonly allowedTools?: readonly string[];
}

/** @throws DomainError `invalid_request` with every fault. */
export function readToolRequest(context: Readonly<Record<string, unknown>>, tools: RawJson | undefined): ToolRequest {
  const sent = tools?.value ?? [];
  const faults = faultsOfClientTools(sent);
  if (faults.length > 0) {
    throw faulty(
      'invalid_request',
      faults.map((fault) => ({ ...fault, path: `/tools${fault.path}` })),
    );
  }
  return { ...readToolWishes(context), clientTools: decodeClientTools(sent) };
}

/**
 * The tools a task gets.
 * @param takesClientTools whether the chosen runner can hand a call to the caller.
 * @throws DomainError `unsupported_input` when it cannot, or when a name means a tool of the agent already.
 */
export function toolTermsOf(
  { clientTools, wishes }: ToolRequest,
  { agent, route }: Routed,
  takesClientTools: boolean,
): ToolTerms {
  if (clientTools.length > 0 && !takesClientTools) {
    const message = `the agent ${agent.id} cannot hand calls of tools to its caller`;
    throw faulty('unsupported_input', [{ path: '/tools', code: 'not_supported', message }]);
  }
  const clashes = clientTools.flatMap(({ name }, index) => (agent.tools.includes(name) ? clashAt(index, agent) : []));
  if (clashes.length > 0) throw faulty('unsupported_input', clashes);
  const offered = clientTools.filter(({ name }) => !wishes.deny?.includes(name));
  const narrowed = wishes.allow !== undefined || (wishes.deny ?? []).length > 0;
  return {
    ...(offered.length > 0 ? { clientTools: JSON.stringify(offered) } : {}),
    ...(narrowed ? { allowedTools: effectiveTools(toolsOn(agent.tools, route.tools), wishes) } : {}),
  };
}

/** What to tell a caller whose task was taken, of how its wishes were understood. */
export function toolWarnings(
  { wishes, clientTools, warnings }: ToolRequest,
  agent: AgentDeclaration,
): readonly Fault[] {
  const known = new Set([...agent.tools, ...clientTools.map(({ name }) => name)]);
  const unknown = (wishes.allow ?? []).flatMap((name, index) =>
    known.has(name)
      ? []
      : [{ path: `/context/allow_tools/${index}`, code: 'unknown_tool', message: `names no tool of ${agent.id}` }],
  );
  const denied = clientTools.flatMap(({ name }, index) =>
    wishes.deny?.includes(name)
      ? [{ path: `/tools/${index}`, code: 'denied', message: 'is denied by a rule and not offered' }]
      : [],
  );
  return [...warnings, ...unknown, ...denied];
}

function clashAt(index: number, { id }: AgentDeclaration): Fault[] {
  return [{ path: `/tools/${index}/name`, code: 'name_taken', message: `is the name of a tool of ${id}` }];
}
