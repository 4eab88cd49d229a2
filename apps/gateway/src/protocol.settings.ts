import { anyText, integerFrom, oneOf, type SettingValues } from '#lib/platform';
import type { AgentScopeOptions } from './agentscope/agentscope.options.js';
import type { AgentProtocolOptions } from './agent-protocol/agent-protocol.options.js';
import type { A2aOptions } from './a2a/a2a.options.js';
import type { AgUiOptions } from './ag-ui/ag-ui.options.js';
import { AGUI_SETTINGS, agUiOptionsOf } from './ag-ui.settings.js';
import { CHAT_SETTINGS, chatOptionsOf } from './chat.settings.js';
import type { ChatOptions } from './chat/chat.options.js';

const onOff = { default: 'true', ...oneOf('true', 'false') } as const;

/** The environment of the protocols spoken beside `/v1`. */
export const PROTOCOL_SETTINGS = {
  AGENTSCOPE_ENABLED: { meaning: '`false`: AgentScope remote subagents are not served.', ...onOff },
  AGENTSCOPE_STREAMING: { meaning: '`false`: they are polled only, their events answer 501.', ...onOff },
  AGENTSCOPE_HITL: { meaning: '`false`: their clients are shown no pauses and cannot answer them.', ...onOff },
  AGENTSCOPE_STREAM_SECONDS: {
    default: '10800',
    unit: 's',
    meaning: 'How long a stream of their events, or a wait, goes on at most.',
    ...integerFrom(1, 86_400),
  },
  AGENTSCOPE_STRICT: {
    meaning: '`true`: what is unknown is answered as AgentScope does, mostly with 200.',
    default: 'false',
    ...oneOf('true', 'false'),
  },
  AGENT_PROTOCOL_ENABLED: { meaning: '`false`: Agent Protocol v1 and step-stream v1 is not served.', ...onOff },
  AGENT_PROTOCOL_AGENT: {
    meaning: 'The agent of Agent Protocol tasks that name none in `X-Agent-Id`; absent: the default agent.',
    ...anyText,
  },
  AGENT_PROTOCOL_STEP_SECONDS: {
    default: '60',
    unit: 's',
    meaning: 'How long the execution of a step waits for one to be over before it answers with the one under way.',
    ...integerFrom(1, 270),
  },
  A2A_ENABLED: { meaning: '`false`: A2A is not served.', ...onOff },
  A2A_BLOCKING_SECONDS: {
    meaning: 'How long A2A keeps a client waiting that asks for the outcome; then it gets the task as it stands.',
    default: '120',
    ...integerFrom(1, 280),
  },
  A2A_CONFIRMATION_STATE: {
    meaning: 'What a task that waits for the decision of a tool call is called in A2A.',
    default: 'input-required',
    ...oneOf('input-required', 'auth-required'),
  },
  AGUI_ENABLED: { meaning: '`false`: AG-UI is not served.', ...onOff },
  ...AGUI_SETTINGS,
  CHAT_ENABLED: { meaning: '`false`: Chat Completions is not served.', ...onOff },
  ...CHAT_SETTINGS,
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
    agentScope: {
      isEnabled: settings.AGENTSCOPE_ENABLED === 'true',
      isStreaming: settings.AGENTSCOPE_STREAMING === 'true',
      isAnswerable: settings.AGENTSCOPE_HITL === 'true',
      maxHoldMs: settings.AGENTSCOPE_STREAM_SECONDS * 1_000,
      isStrict: settings.AGENTSCOPE_STRICT === 'true',
    },
    agentProtocol: {
      isEnabled: settings.AGENT_PROTOCOL_ENABLED === 'true',
      agentId: settings.AGENT_PROTOCOL_AGENT,
      stepWaitMs: settings.AGENT_PROTOCOL_STEP_SECONDS * 1_000,
    },
    a2a: {
      isEnabled: settings.A2A_ENABLED === 'true',
      blockingMs: settings.A2A_BLOCKING_SECONDS * 1_000,
      confirmationState: settings.A2A_CONFIRMATION_STATE,
    },
    agUi: agUiOptionsOf(settings.AGUI_ENABLED === 'true', settings),
    chat: chatOptionsOf(settings.CHAT_ENABLED === 'true', settings),
  };
}
