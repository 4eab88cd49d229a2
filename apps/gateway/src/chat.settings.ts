import { CLIENT_TOOL_MODES, ON_INTERRUPT } from '#lib/domain';
import { integerFrom, oneOf, type SettingValues } from '#lib/platform';
import type { ChatOptions } from './chat/chat.options.js';

/** The environment of Chat Completions. */
export const CHAT_SETTINGS = {
  CHAT_ON_INTERRUPT: {
    default: 'deny',
    meaning: 'What becomes of calls that have to be approved, where the agent does not say.',
    ...oneOf(...ON_INTERRUPT),
  },
  CHAT_ON_DISCONNECT: {
    default: 'cancel',
    meaning:
      'What becomes of a task whose client has left before its answer, or waited too long: `detach` lets it go on.',
    ...oneOf('cancel', 'detach'),
  },
  CHAT_TOOL_MODE: {
    default: 'client_first',
    meaning: 'How tools of the client meet the agent’s.',
    ...oneOf(...CLIENT_TOOL_MODES),
  },
  CHAT_GRACE_SECONDS: {
    default: '5',
    unit: 's',
    meaning: 'How long a client that has left may take to come back.',
    ...integerFrom(0, 3_600),
  },
  CHAT_MAX_WAIT_SECONDS: {
    default: '270',
    unit: 's',
    meaning: 'How long an answer that is no stream may take.',
    ...integerFrom(1, 3_600),
  },
  CHAT_ATTACH_RETRIES: {
    default: 'true',
    meaning: '`false`: a repeated request without a key is another one, also when its client says that it repeats.',
    ...oneOf('true', 'false'),
  },
} as const;

export function chatOptionsOf(isEnabled: boolean, settings: SettingValues<typeof CHAT_SETTINGS>): ChatOptions {
  return {
    isEnabled,
    onInterrupt: settings.CHAT_ON_INTERRUPT,
    toolMode: settings.CHAT_TOOL_MODE,
    onDisconnect: settings.CHAT_ON_DISCONNECT,
    graceMs: settings.CHAT_GRACE_SECONDS * 1_000,
    maxWaitMs: settings.CHAT_MAX_WAIT_SECONDS * 1_000,
    attachesRetries: settings.CHAT_ATTACH_RETRIES === 'true',
  };
}
