import { digestValue } from '#lib/platform';

/** Where a tool does its work: in this process, behind a URL, or on an MCP server. */
export type ToolKind = 'builtin' | 'http' | 'mcp';

/** The run that calls, as far as tools may know of it. */
export interface CallingRun {
  /** The task's input, its text files as text. */
  readonly input: unknown;
  /** Fires when the run is over: what a tool still does is of no use to anybody. */
  readonly signal: AbortSignal;
  readonly tenant: string;
  readonly taskId: string;
}

/** One call, beside its arguments. */
export interface ToolCall extends CallingRun {
  readonly toolCallId: string;
  /** The same whenever this call of this task is made again, and no other call's: task and tool call id. */
  readonly idempotencyKey: string;
}

/** A tool that may be called. Whether somebody may call it is not its business. */
export interface Tool {
  /** What every model provider takes as the name of a function: 1 to 64 of `[A-Za-z0-9_-]`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** A call made twice does no more than one. */
  readonly idempotent: boolean;
  readonly kind: ToolKind;
  /** Digest of its declaration: another one is another tool, whatever its name. */
  readonly version: string;
  /** The longest a call may take, in ms. */
  readonly timeoutMs: number;
  /** JSON Pointers of arguments that its schema marks as secret: `"writeOnly": true` or `"x-secret": true`. */
  readonly secretFields: readonly string[];
  /**
   * Makes the call; `args` were checked against `parameters`. Resolves with JSON. Rejects with the signal's reason when
   * aborted, with a ToolError when the tool says what is wrong, and with another Error whose message is for the model.
   */
  execute(args: Readonly<Record<string, unknown>>, call: ToolCall): Promise<unknown>;
}

/** The tools there are. What it answers is what this process knows now, seconds old at most: it asks nobody. */
export abstract class ToolCatalog {
  /** The tool of that name; undefined when there is none, when it is not for this tenant, or when it is held back. */
  abstract find(name: string, tenant: string): Tool | undefined;
}

/** The version of a tool: a digest of what is declared of it, whatever the order of its members. */
export function versionOf(declaration: unknown): string {
  return digestValue(declaration);
}
