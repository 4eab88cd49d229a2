import type {
  Budgets,
  CallerConversation,
  ConfirmationBody,
  Detail,
  EventBody,
  FileMode,
  ResultBody,
  TaskAnswer,
  TaskKey,
  ToolVerdict,
  UsageBody,
} from '#lib/domain';

/** Events an adapter may emit: progress only. Task, artifact and confirmation events are written by the platform. */
export type RunnerEventType = Exclude<
  EventBody['type'],
  `task.${string}` | 'artifact.created' | 'agent.request_confirmation' | 'heartbeat' | 'tool.denied'
>;
/** An event an adapter may emit, with its payload. */
export type RunnerEvent = Extract<EventBody, { type: RunnerEventType }>;

/**
 * One item of a run's stream. Every run ends with exactly one `result` or `pause`, or by throwing an AdapterError;
 * nothing follows it.
 */
export type RunnerItem =
  | ({ readonly kind: 'event' } & RunnerEvent)
  /** Stored in the same statement as the events emitted since the last one; the newest is given to the next run. JSON, at most 4 MiB. */
  | { readonly kind: 'checkpoint'; readonly data: unknown }
  /** A file of the workspace to keep as a downloadable artifact; the path is relative to the workspace. */
  | {
      readonly kind: 'artifact';
      readonly path: string;
      readonly name: string;
      readonly mediaType: string;
      readonly stepId?: string;
    }
  /**
   * The end. `messageId` names the message (started and streamed at `full`) that is the final answer; its
   * `message.completed` is written by the platform, so the adapter must not emit it for that message. `conversation` is
   * what the next task of the session is given, in place of what this one was; JSON, at most 1 MiB. Without a session it
   * goes nowhere.
   */
  | {
      readonly kind: 'result';
      readonly result: ResultBody;
      readonly messageId?: string;
      readonly usage?: UsageBody;
      readonly conversation?: unknown;
    }
  /** The run stops until somebody answers. A checkpoint must have come before it. */
  | { readonly kind: 'pause'; readonly confirmations: readonly Omit<ConfirmationBody, 'digest' | 'expires_at'>[] };

/**
 * The answer that a resumed run continues from. Should that run be lost, the next one gets it again, unless it had stored
 * a checkpoint: what the answer said must be in there.
 */
export type RunnerAnswer = TaskAnswer;

/** A tool as the model sees it. `parameters` is a JSON Schema of an object. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly idempotent: boolean;
  /** `confirm`: a call may have to be approved by somebody before it is made; `verdictOn` says which. Absent: `allow`. */
  readonly policy?: 'allow' | 'confirm';
}

/** The tools this run may use. The client checks arguments and permissions; the adapter emits the events. */
export interface ToolClient {
  readonly list: readonly ToolDescription[];
  /** What the policy says of one call, to be asked before it is announced. Absent: what the description says of every call. */
  verdictOn?(name: string, args: unknown): ToolVerdict;
  /**
   * Resolves with the output (JSON); throws ToolError. Aborts with the run's signal. Output that is large or comes in
   * pieces is an artifact: then this is `{artifact_id, size, sha256, preview}`.
   */
  call(name: string, args: unknown, toolCallId: string): Promise<unknown>;
}

/** A part of the input that holds bytes, wherever they are. */
export interface InputFile {
  /** Place of the part in the input, from 0. */
  readonly index: number;
  readonly type: FileMode;
  readonly mediaType: string;
  readonly name?: string;
  /** In bytes. */
  readonly size: number;
  /** The bytes, as often as asked for. Stored ones are verified as they are read. Throws an AdapterError when they are gone. */
  open(): AsyncIterable<Uint8Array>;
}

/** Everything a run may know. `input` and `context` are exactly what the caller sent. */
export interface RunContext {
  readonly taskKey: TaskKey;
  readonly taskId: string;
  /** Fencing token: 1, 2, 3 … per task. */
  readonly runNo: number;
  readonly tenant: string;
  readonly agentId: string;
  readonly type?: string;
  readonly sessionId?: string;
  readonly userId?: string;
  readonly parentSessionId?: string;
  readonly input: unknown;
  /**
   * The input with its text files, as far as they are small enough, in place of the parts that name them: for who reads
   * text only. Absent: the input names none.
   */
  readonly readableInput?: unknown;
  /** The parts of the input that hold bytes, in their order. */
  readonly files: readonly InputFile[];
  readonly context: Readonly<Record<string, unknown>>;
  /**
   * `context.attributes`, as one map under `agentprotocol.context.attributes`, absent when there are none; beside it what
   * the operator lets through by name or adds. Never shown to a model.
   */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
  readonly detail: Detail;
  /** Data of the newest checkpoint of an earlier run of this task. */
  readonly checkpoint?: unknown;
  /** What the last task of the session that ended well left; the same in every run of a task. */
  readonly conversation?: unknown;
  /** What was said around the input, as the caller tells it. What the session remembers takes its place. */
  readonly callerConversation?: CallerConversation;
  /** Present when this run follows an answer that no checkpoint holds yet. */
  readonly answer?: RunnerAnswer;
  readonly tools: ToolClient;
  /**
   * A token that stands for this run: the runtime API takes it, or whoever is named as its audience. It lives for minutes
   * and dies with the run, so ask each time one is needed. It is a secret: it goes into no prompt, event or log.
   * Throws an AdapterError `cancelled` once the run is to stop.
   */
  taskToken(audience?: string): Promise<string>;
  /** Tools the caller runs itself: a run asks for a call by pausing with a confirmation of the kind `client_tool`. */
  readonly clientTools: readonly ToolDescription[];
  /** Absolute path of the task's own directory; exists, is writable, bounded in size. */
  readonly workspace: string;
  readonly budgets: Budgets;
}

/** The contract of a runner. One instance serves many runs at once; it owns its connections. */
export interface RunnerAdapter {
  /** Runs or resumes one task. After `signal` fires the stream must end (by throwing `cancelled`) within the grace period. */
  start(context: RunContext, signal: AbortSignal): AsyncIterable<RunnerItem>;
  /** Resolves when the adapter can take work; throws an AdapterError when it cannot. */
  health(): Promise<void>;
  /** Frees what it owns. */
  close(): Promise<void>;
}
