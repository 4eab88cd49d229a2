/** A value of a header or a variable that is read where and when it is needed, and kept nowhere. */
export type SecretReference = { readonly prefix?: string } & (
  { readonly secret: string; readonly secret_file?: never } | { readonly secret_file: string; readonly secret?: never }
);

/** A value that a call's argument gives. */
export interface ArgumentReference {
  readonly argument: string;
}

interface CommonSource {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly enabled?: boolean;
  /** Absent: every tenant. */
  readonly tenants?: readonly string[];
  readonly timeout_seconds?: number;
}

/** A tool behind a URL, in the spelling of agents.yaml; everything optional has a default. */
export interface HttpSource extends CommonSource {
  readonly kind: 'http';
  readonly description: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly idempotent?: boolean;
  readonly request: {
    readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    readonly url: string;
    readonly headers?: Readonly<Record<string, string | SecretReference | ArgumentReference>>;
    readonly json?: unknown;
    readonly form?: Readonly<Record<string, string | ArgumentReference>>;
  };
  readonly response?: {
    readonly format?: 'json' | 'text';
    readonly max_bytes?: number;
    readonly pick?: string;
    readonly success?: readonly number[];
  };
}

/** An MCP server, in the spelling of agents.yaml: reached by `url`, or started by `command`. */
export interface McpSource extends CommonSource {
  readonly kind: 'mcp';
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string | SecretReference>>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | SecretReference>>;
  readonly cwd?: string;
  /** Of its tools, these only, by the server's names. */
  readonly tools?: readonly string[];
  /** Those that may be called twice, by the server's names: what a server itself says of that is not believed. */
  readonly idempotent?: readonly string[];
  readonly trust?: 'hold' | 'auto';
  readonly refresh_seconds?: number;
  readonly max_bytes?: number;
}

/** What can be declared. */
export type ToolSource = HttpSource | McpSource;

/** Parameters of a tool that declares none. */
export const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false } as const;

/** Defaults of declarations. */
export const TOOL_DEFAULTS = {
  timeoutSeconds: 30,
  maxBytes: 262_144,
  refreshSeconds: 300,
} as const;

/** The name of a tool of an MCP server, as models and policies know it; undefined when it cannot have one. */
export function nameOfMcpTool(serverId: string, remoteName: string): string | undefined {
  const mapped = remoteName.replace(/[^A-Za-z0-9_-]/g, '_');
  const name = `${serverId}__${mapped}`;
  return remoteName.length > 0 && name.length <= 64 ? name : undefined;
}

/** The server whose tool has this name; undefined for other names. */
export function serverOfMcpTool(name: string): string | undefined {
  const at = name.indexOf('__');
  return at > 0 ? name.slice(0, at) : undefined;
}

/** True for a value that is read when it is needed. */
export function isSecretReference(value: unknown): value is SecretReference {
  return typeof value === 'object' && value !== null && ('secret' in value || 'secret_file' in value);
}

/** True for a value that a call's argument gives. */
export function isArgumentReference(value: unknown): value is ArgumentReference {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === 'argument' && typeof (value as ArgumentReference).argument === 'string';
}
