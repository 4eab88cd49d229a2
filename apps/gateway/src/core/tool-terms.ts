import {
  type AgentDeclaration,
  type ClientTool,
  type ClientToolMode,
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

/** How the caller's tools meet the agent's. */
export interface ToolMeeting {
  /** Whether the chosen runner can hand a call to the caller. */
  readonly takesClientTools: boolean;
  /** Absent: `refuse`. */
  readonly mode?: ClientToolMode | undefined;
}

/**
 * The tools a task gets.
 * @throws DomainError `unsupported_input` in mode `refuse` when the runner cannot hand out calls, or when a name means a
 * tool of the agent already.
 */
export function toolTermsOf(request: ToolRequest, routed: Routed, meeting: ToolMeeting): ToolTerms {
  const { wishes } = request;
  const mode = meeting.mode ?? 'refuse';
  const isUnused = mode === 'agent_only' || (mode !== 'refuse' && !meeting.takesClientTools);
  const clientTools = isUnused ? [] : request.clientTools;
  if (mode === 'refuse') refuseClashes(clientTools, routed, meeting.takesClientTools);
  const offered = clientTools.filter(({ name }) => !wishes.deny?.includes(name));
  const own = effectiveTools(toolsOn(routed.agent.tools, routed.route.tools), wishes);
  const kept = mode === 'client_only' ? [] : own.filter((tool) => !offered.some(({ name }) => name === tool));
  const narrowed = wishes.allow !== undefined || (wishes.deny ?? []).length > 0 || kept.length < own.length;
  return {
    ...(offered.length > 0 ? { clientTools: JSON.stringify(offered) } : {}),
    ...(narrowed ? { allowedTools: kept } : {}),
  };
}

function refuseClashes(clientTools: readonly ClientTool[], { agent }: Routed, takesClientTools: boolean): void {
  if (clientTools.length > 0 && !takesClientTools) {
    const message = `the agent ${agent.id} cannot hand calls of tools to its caller`;
    throw faulty('unsupported_input', [{ path: '/tools', code: 'not_supported', message }]);
  }
  const clashes = clientTools.flatMap(({ name }, index) => (agent.tools.includes(name) ? clashAt(index, agent) : []));
  if (clashes.length > 0) throw faulty('unsupported_input', clashes);
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
