import { canonicalJson } from '#lib/domain';
import { createHash } from 'node:crypto';

/** Names a value exactly, whatever the order of its members: SHA-256 of its canonical JSON, in hex. */
export function digestValue(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Names exactly one call: another tool or other arguments have another digest. */
export function digestCall(toolName: string | undefined, args: unknown): string {
  return digestValue({ tool_name: toolName ?? null, arguments: args ?? null });
}
