import { AgentCard } from '@a2a-js/sdk';
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import type { AgentRecord } from '#lib/domain';
import { createCard } from '#lib/protocol/a2a';
import type { AgentDirectory } from '../core/agent.directory.js';
import type { AgentsService } from '../core/agents.service.js';
import type { Caller } from '../core/caller.js';
import { unknownAgent } from './calls.js';

/** What agents say of themselves. The public card tells of those that every tenant may use, and nothing of what is behind them. */
export class Cards {
  constructor(
    private readonly directory: AgentDirectory,
    private readonly agents: AgentsService,
    private readonly publicUrl: () => string,
  ) {}

  /** For everybody. Without an id the one of the agent that is marked as default. @throws DomainError `unknown_agent` */
  open(agentId: string | undefined): AgentCard {
    const agent = this.directory
      .all()
      .find((each) => each.tenants === undefined && (agentId === undefined ? each.default : each.id === agentId));
    if (!agent) throw unknownAgent();
    return this.ofAgent(agent);
  }

  ofAgent(agent: AgentRecord): AgentCard {
    return createCard({ agent, version: String(agent.version), baseUrl: this.publicUrl() });
  }

  /** With the tools that its tasks may call. */
  async extended({ caller, agent }: { readonly caller: Caller; readonly agent: AgentRecord }): Promise<AgentCard> {
    const { tools } = await this.agents.capabilities(caller, agent.id);
    return createCard({ agent, version: String(agent.version), baseUrl: this.publicUrl(), tools });
  }
}

/** As 0.3 had it; what speaks 1.0 finds its interfaces in it as well. */
export async function encodeCard03(card: AgentCard): Promise<object> {
  const source = { getAuthenticatedExtendedAgentCard: () => Promise.resolve(card) } as unknown as A2ARequestHandler;
  const legacy = await new LegacyRestTransportHandler(source).getAuthenticatedExtendedAgentCard(
    new ServerCallContext(),
  );
  const { supportedInterfaces } = AgentCard.toJSON(card) as { readonly supportedInterfaces: unknown };
  return { ...legacy, supportedInterfaces };
}
