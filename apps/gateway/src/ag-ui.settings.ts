import type { ClientToolMode } from '#lib/domain';
import { anyText, integerFrom, oneOf, type SettingValues } from '#lib/platform';
import type { AgUiOptions } from './ag-ui/ag-ui.options.js';

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

/** Fields that carry who calls are for us alone. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key']);

const fieldName = {
  expects: 'the name of a header field',
  parse: (text: string): string | undefined => (FIELD_NAME.test(text) ? text : undefined),
};
const fieldNames = {
  expects: 'names of header fields, separated by commas, none of them one that carries credentials',
  parse: (text: string): readonly string[] | undefined => {
    const names = text.split(',').map((name) => name.trim());
    const isFit = names.every((name) => FIELD_NAME.test(name) && !SECRET_FIELDS.has(name.toLowerCase()));
    return isFit ? names : undefined;
  },
};
const onOff = oneOf('true', 'false');

/** Modes by what AgentScope calls them, or called them before September 2026. */
const TOOL_MODES = {
  MERGE_EXTERNAL_PRIORITY: 'client_first',
  EXTERNAL_ONLY: 'client_only',
  AGENT_ONLY: 'agent_only',
  MERGE_FRONTEND_PRIORITY: 'client_first',
  FRONTEND_ONLY: 'client_only',
} as const satisfies Readonly<Record<string, ClientToolMode>>;
type ToolModeName = keyof typeof TOOL_MODES;

/** The environment of AG-UI beside its switch. */
export const AGUI_SETTINGS = {
  AGUI_RUN_TIMEOUT_SECONDS: {
    default: '600',
    unit: 's',
    meaning: 'How long a run that somebody watches may take before it is cancelled; 0: as long as its task.',
    ...integerFrom(0, 604_800),
  },
  AGUI_STATE_EVENTS: { default: 'true', meaning: '`false`: no state and activity events.', ...onOff },
  AGUI_TOOL_CALL_ARGS: { default: 'true', meaning: '`false`: tool calls are shown without arguments.', ...onOff },
  AGUI_TOKEN_USAGE: { default: 'false', meaning: '`true`: what models used up is shown.', ...onOff },
  AGUI_REASONING: { default: 'false', meaning: '`true`: reasoning is shown.', ...onOff },
  AGUI_RAW_EVENTS: { default: 'false', meaning: '`true`: private events of frameworks are shown as `RAW`.', ...onOff },
  AGUI_NATIVE_SUBAGENTS: {
    default: 'false',
    meaning: '`true`: consumers of 1.0 get events of sub-agents as such, not as `CUSTOM subagent.*`.',
    ...onOff,
  },
  AGUI_TOOL_MODE: {
    default: 'MERGE_EXTERNAL_PRIORITY',
    meaning: 'How tools of the frontend meet the agent’s: that, `EXTERNAL_ONLY` or `AGENT_ONLY`; older names hold too.',
    ...oneOf(...(Object.keys(TOOL_MODES) as [ToolModeName, ...ToolModeName[]])),
  },
  AGUI_INTERRUPT_ON_DISCONNECT: {
    default: 'false',
    meaning: '`true`: a run whose client leaves is cancelled 5 s later, unless it is watched again.',
    ...onOff,
  },
  AGUI_AGENT_HEADER: {
    default: 'X-Agent-Id',
    meaning: 'Header field that names the agent where the path does not.',
    ...fieldName,
  },
  AGUI_CONTEXT_HEADERS: {
    meaning: 'Header fields that runs are told as attributes, in lower case, separated by commas; absent: none.',
    ...fieldNames,
  },
  AGUI_EXTENSIONS: {
    meaning: 'A compiled module with converters and enrichers; absent: none. docs/protocols/ag-ui.md has its form.',
    ...anyText,
  },
} as const;

export function agUiOptionsOf(isEnabled: boolean, settings: SettingValues<typeof AGUI_SETTINGS>): AgUiOptions {
  const timeoutMs = settings.AGUI_RUN_TIMEOUT_SECONDS * 1_000;
  return {
    isEnabled,
    view: {
      stateEvents: settings.AGUI_STATE_EVENTS === 'true',
      toolCallArgs: settings.AGUI_TOOL_CALL_ARGS === 'true',
      tokenUsage: settings.AGUI_TOKEN_USAGE === 'true',
      reasoning: settings.AGUI_REASONING === 'true',
      raw: settings.AGUI_RAW_EVENTS === 'true',
      nativeSubagents: settings.AGUI_NATIVE_SUBAGENTS === 'true',
    },
    runTimeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
    toolMode: TOOL_MODES[settings.AGUI_TOOL_MODE],
    interruptsOnDisconnect: settings.AGUI_INTERRUPT_ON_DISCONNECT === 'true',
    agentHeader: settings.AGUI_AGENT_HEADER,
    contextHeaders: settings.AGUI_CONTEXT_HEADERS ?? [],
    extensions: settings.AGUI_EXTENSIONS,
  };
}
