import type { AgentCapabilities as AgUiCapabilities } from '@ag-ui/core';
import type { AgentDeclaration } from '#lib/domain';
import type { ViewOptions } from '#lib/protocol/ag-ui';
import type { AgentCapabilities } from '../core/agents.service.js';

/** What is known of an agent (capabilities). What is not known is left out: absent means unknown. */
export function encodeCapabilities(
  { id, name, description }: Pick<AgentDeclaration, 'id' | 'name' | 'description'>,
  { events, inputModes, tools, pause, clientTools }: AgentCapabilities,
  view: ViewOptions,
): AgUiCapabilities {
  const takes = (mode: (typeof inputModes)[number]): boolean => inputModes.includes(mode);
  return {
    identity: { name, description, metadata: { agentId: id } },
    transport: { streaming: true, websocket: false, httpBinary: false, resumable: true },
    tools: { supported: tools.length > 0 || clientTools, clientProvided: clientTools },
    reasoning: { supported: view.reasoning && events.includes('thinking.delta'), encrypted: false },
    multimodal: {
      input: { image: takes('image'), audio: takes('audio'), video: takes('video'), file: takes('file') },
    },
    humanInTheLoop: { supported: pause, interrupts: pause, approvals: pause, approveWithEdits: pause },
  };
}
