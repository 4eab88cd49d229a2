import type { IncomingHttpHeaders } from 'node:http';
import type { AgentRecord } from '#lib/domain';

import type { AgentCapabilities, AgentView } from '../core/agents.service.js';
import type { Expectation } from '../core/declaration-edit.js';
import { invalid } from '../http/dto.js';
import { decodePage, type PageQuery } from '../http/page.query.js';
import type { AgentAnswer, AgentsAnswer, CapabilitiesAnswer } from './answer.dto.js';
import { encodeTime } from './tasks.mapping.js';

/** Callers never learn what runs behind an agent; operators see its declaration, as it was written. */
export function encodeAgent({ agent, activeTasks }: AgentView): AgentAnswer {
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
    ...(activeTasks === undefined ? {} : { active_tasks: activeTasks, declaration: agent.source }),
  };
}

/** Agents come in the order of their ids; the cursor is the last one shown. */
export function encodeAgents(agents: readonly AgentView[], query: PageQuery): AgentsAnswer {
  const { limit, cursor = '' } = decodePage(query);
  const rest = agents.filter(({ agent }) => agent.id > cursor).sort((a, b) => (a.agent.id < b.agent.id ? -1 : 1));
  const page = rest.slice(0, limit);
  return { agents: page.map(encodeAgent), next_cursor: rest.length > limit ? page.at(-1)!.agent.id : null };
}

/** A strong tag: it names one declaration. What else an answer shows may change without it. */
export function agentEtag({ version }: AgentRecord): string {
  return `"${version}"`;
}

/** What the conditional headers of a change ask for. @throws DomainError `invalid_request` */
export function decodeExpectation(headers: IncomingHttpHeaders): Expectation {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  return {
    ...(ifMatch === undefined ? {} : { ifMatch: decodeTags(ifMatch, 'if-match') }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch: decodeTags(ifNoneMatch, 'if-none-match') }),
  };
}

const TAGS = /^\s*(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*\s*$/;

/** The versions a list of entity tags names. A tag that we never gave out, a weak one too, names none. */
function decodeTags(text: string, header: string): '*' | readonly number[] {
  if (text.trim() === '*') return '*';
  if (!TAGS.test(text)) {
    throw invalid([
      { path: `header.${header}`, code: 'matches', message: 'must be * or a list of quoted entity tags' },
    ]);
  }
  return text.split(',').flatMap((tag) => {
    const version = /^"(\d{1,10})"$/.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

export function encodeCapabilities(of: AgentCapabilities): CapabilitiesAnswer {
  const { agentId, types, inputModes, tools, events, pause, resume, cancel, clientTools } = of;
  return {
    agent_id: agentId,
    task_types: types,
    input_modes: inputModes,
    tools,
    event_types: events,
    pause,
    resume,
    cancel,
    client_tools: clientTools,
  };
}
