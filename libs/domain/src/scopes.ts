/** What a key may do. */
export const SCOPES = [
  'tasks:submit',
  'tasks:read',
  'tasks:decide',
  'tasks:cancel',
  'tasks:all',
  'agents:read',
  'agents:write',
  'keys:read',
  'keys:write',
  'audit:read',
  'tools:read',
  'tools:write',
  'webhooks:read',
  'webhooks:write',
  'metrics:read',
  'platform:admin',
] as const;
/** One thing a key may do. */
export type Scope = (typeof SCOPES)[number];

/** True when `value` names a scope. */
export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}
