/** What an audit record says of one deed or attempt; sealing adds its place and proof. */
export interface AuditEntry {
  readonly tenant: string;
  readonly principal: string;
  readonly keyId: string;
  /** A dotted word such as `task.submit`. */
  readonly action: string;
  readonly target: string;
  readonly outcome: 'allowed' | 'denied';
  /** JSON text of the details, an object; no secrets. Of what was denied it has the `code`. */
  readonly details: string;
  readonly requestId: string;
}
