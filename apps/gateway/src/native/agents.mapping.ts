import type { AgentRecord } from '#lib/domain';
import type { AgentCapabilities } from '../core/agents.service.js';
import type { AgentAnswer, AgentsAnswer, CapabilitiesAnswer } from './answer.dto.js';
import type { PageQuery } from './query.dto.js';
import { decodePage, encodeTime } from './tasks.mapping.js';

/** Routes and backends are left out: callers never learn what runs behind an agent. */
export function encodeAgent(agent: AgentRecord): AgentAnswer {
  return {
    agent_id: agent.id,
    name: agent.name,
    description: agent.description,
    enabled: agent.enabled,
    default: agent.default,
    types: agent.types,
    input_modes: agent.inputModes,
    input_schema: agent.inputSchema,
    tools: agent.tools,
    updated_at: encodeTime(agent.updatedAtMs),
  };
}

/** Agents come in the order of their ids; the cursor is the last one shown. */
export function encodeAgents(agents: readonly AgentRecord[], query: PageQuery): AgentsAnswer {
  const { limit, cursor = '' } = decodePage(query);
  const rest = agents.filter(({ id }) => id > cursor).sort((a, b) => (a.id < b.id ? -1 : 1));
  const page = rest.slice(0, limit);
  return { agents: page.map(encodeAgent), next_cursor: rest.length > limit ? page.at(-1)!.id : null };
}

export function encodeCapabilities(of: AgentCapabilities): CapabilitiesAnswer {
  const { agentId, types, inputModes, tools, events, pause, resume, cancel } = of;
  return {
    agent_id: agentId,
    task_types: types,
    input_modes: inputModes,
    tools,
    event_types: events,
    pause,
    resume,
    cancel,
  };
}
