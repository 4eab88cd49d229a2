import type { ConfirmationBody, Detail } from './event-table.js';
import type { ToolLimits, ToolPolicy } from './tool-policy.js';

/** Parts a task's input may have besides plain text. */
export const INPUT_MODES = ['text', 'data', 'file', 'image', 'audio', 'video'] as const;
/** One kind of part. */
export type InputMode = (typeof INPUT_MODES)[number];

/** What runs a task: a runner kind with its options. `version` names one immutable row of `backend_versions`. */
export interface BackendChoice {
  readonly runner: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly weight: number;
  /** Queue pool; by default the runner kind. */
  readonly pool?: string;
}

/** Conditions of a route; all that are given must hold. */
export interface RouteCondition {
  readonly type?: string;
  readonly tenant?: string;
  readonly user?: string;
  /** By `context.<key>` and `attributes.<key>`. */
  readonly [key: `context.${string}` | `attributes.${string}`]: unknown;
}

/** Backends for the tasks that meet its condition; without one, for all. `tools` narrows those of the agent. */
export interface Route {
  readonly when?: RouteCondition;
  readonly tools?: readonly string[];
  readonly backends: readonly BackendChoice[];
}

/** How the agent behaves around a run. Times in seconds. */
export interface AgentPolicy {
  readonly onLost: 'resume' | 'restart' | 'fail';
  readonly maxRuns: number;
  readonly retries: { readonly attempts: number; readonly firstDelaySeconds: number; readonly maxDelaySeconds: number };
  readonly deadlineSeconds: number;
  readonly graceSeconds: number;
  readonly stallSeconds: number;
  /** Between two signs of life of a run. */
  readonly heartbeatSeconds: number;
  readonly confirmationSeconds: ConfirmationSeconds;
  readonly budgets: Budgets;
  /** Absent: every declared tool is allowed. */
  readonly tools?: ToolPolicy;
  /** Absent: those of the product. */
  readonly toolLimits?: ToolLimits;
}

/** How long each kind of pending item waits for its answer, in seconds. */
export type ConfirmationSeconds = Readonly<Record<ConfirmationBody['kind'], number>>;

const DAY_SECONDS = 86_400;

/** A day for every kind. */
export const DEFAULT_CONFIRMATION_SECONDS: ConfirmationSeconds = {
  tool_confirmation: DAY_SECONDS,
  question: DAY_SECONDS,
  client_tool: DAY_SECONDS,
  authorization: DAY_SECONDS,
};

/** Bounds of one run; absent means unbounded. */
export interface Budgets {
  readonly modelCalls?: number;
  readonly toolCalls?: number;
  readonly tokens?: number;
  readonly wallSeconds?: number;
}

/** What becomes of a task whose session has an unfinished one: it waits its turn, is refused, or ends the others first. */
export const SESSION_STRATEGIES = ['enqueue', 'reject', 'interrupt'] as const;
/** One of the strategies. */
export type SessionStrategy = (typeof SESSION_STRATEGIES)[number];

/** What becomes of a wait for a person where a protocol has no word for it: denied, asked as a tool call, or only shown. */
export const ON_INTERRUPT = ['deny', 'tool_call', 'surface'] as const;
/** One of them. */
export type OnInterrupt = (typeof ON_INTERRUPT)[number];

/** How an agent behaves as a model of Chat Completions. */
export interface ChatManner {
  readonly onInterrupt?: OnInterrupt;
  /** Its thoughts are shown; absent: they are not. */
  readonly reasoning?: boolean;
}

/** An agent as declared in agents.yaml. */
export interface AgentDeclaration {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly default: boolean;
  /** Tenants that see it; absent: all. */
  readonly tenants?: readonly string[];
  readonly types: readonly string[];
  readonly inputModes: readonly InputMode[];
  /** Media types of parts with bytes, `type/subtype` or `type/*`; absent: any. */
  readonly mediaTypes?: readonly string[];
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  readonly tools: readonly string[];
  readonly detail?: Detail;
  /** Absent: `enqueue`. */
  readonly sessionStrategy?: SessionStrategy;
  /** Callers may add instructions of their own, behind the agent's; absent: they may not. */
  readonly callerInstructions?: boolean;
  /** How it behaves as a model; absent: as the installation says. */
  readonly chat?: ChatManner;
  readonly policy: AgentPolicy;
  readonly routes: readonly Route[];
}

/** The policy of an agent that declares none; a declared field replaces only its own. */
export const DEFAULT_POLICY: AgentPolicy = {
  onLost: 'resume',
  maxRuns: 3,
  retries: { attempts: 3, firstDelaySeconds: 1, maxDelaySeconds: 30 },
  deadlineSeconds: 604_800,
  graceSeconds: 10,
  stallSeconds: 180,
  heartbeatSeconds: 60,
  confirmationSeconds: DEFAULT_CONFIRMATION_SECONDS,
  budgets: {},
};
