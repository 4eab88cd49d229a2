import { oneOf, type SettingValues } from '#lib/platform';
import type { AgentScopeOptions } from './agentscope/agentscope.options.js';
import type { AgentProtocolOptions } from './agent-protocol/agent-protocol.options.js';
import type { A2aOptions } from './a2a/a2a.options.js';
import type { AgUiOptions } from './ag-ui/ag-ui.options.js';
import type { ChatOptions } from './chat/chat.options.js';

const onOff = { default: 'true', ...oneOf('true', 'false') } as const;

/** The environment of the protocols spoken beside `/v1`. */
export const PROTOCOL_SETTINGS = {
  AGENTSCOPE_ENABLED: { meaning: '`false`: AgentScope remote subagents are not served.', ...onOff },
  AGENT_PROTOCOL_ENABLED: { meaning: '`false`: Agent Protocol v1 and step-stream v1 is not served.', ...onOff },
  A2A_ENABLED: { meaning: '`false`: A2A is not served.', ...onOff },
  AGUI_ENABLED: { meaning: '`false`: AG-UI is not served.', ...onOff },
  CHAT_ENABLED: { meaning: '`false`: Chat Completions is not served.', ...onOff },
} as const;

/** How each of them is served. */
export interface ProtocolOptions {
  readonly agentScope: AgentScopeOptions;
  readonly agentProtocol: AgentProtocolOptions;
  readonly a2a: A2aOptions;
  readonly agUi: AgUiOptions;
  readonly chat: ChatOptions;
}

export function protocolOptionsOf(settings: SettingValues<typeof PROTOCOL_SETTINGS>): ProtocolOptions {
  return {
    agentScope: { isEnabled: settings.AGENTSCOPE_ENABLED === 'true' },
    agentProtocol: { isEnabled: settings.AGENT_PROTOCOL_ENABLED === 'true' },
    a2a: { isEnabled: settings.A2A_ENABLED === 'true' },
    agUi: { isEnabled: settings.AGUI_ENABLED === 'true' },
    chat: { isEnabled: settings.CHAT_ENABLED === 'true' },
  };
}
