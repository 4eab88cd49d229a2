import type { ListedTool } from '#lib/domain';
import type { Breaker } from '../breaker.js';
import { type McpSource, TOOL_DEFAULTS } from '../contract/declaration.js';
import { type Tool, versionOf } from '../contract/tool.js';
import { guardedCall } from '../guarded-call.js';
import { secretFieldsOf } from '../secret-fields.js';
import type { McpServer } from './mcp.server.js';

/** A tool of a server, as it was accepted. What may be done twice is the operator's word, not the server's. */
export function mcpTool(
  source: McpSource,
  accepted: ListedTool,
  { server, breaker }: { readonly server: McpServer; readonly breaker: Breaker },
): Tool {
  const { name, description, parameters, remoteName, digest } = accepted;
  const timeoutMs = (source.timeout_seconds ?? TOOL_DEFAULTS.timeoutSeconds) * 1_000;
  const idempotent = source.idempotent?.includes(remoteName) ?? false;
  const hide = (text: string): string => server.hide(text);
  return {
    name,
    description,
    parameters,
    idempotent,
    kind: 'mcp',
    version: versionOf({ server: source.id, digest, idempotent, timeoutMs }),
    timeoutMs,
    secretFields: secretFieldsOf(parameters),
    execute: (args, call) =>
      guardedCall({ name, timeoutMs, breaker, hide }, call, (signal) =>
        server.call({ tool: accepted, args, signal, idempotencyKey: call.idempotencyKey }),
      ),
  };
}
