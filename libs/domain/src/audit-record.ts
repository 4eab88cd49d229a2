/** An audit record as stored, each column as the text that is hashed. */
export interface AuditRecord {
  /** UUIDv7 in lower case with dashes. */
  readonly id: string;
  /** `YYYY-MM-DDThh:mm:ss.ffffffZ`: the database's clock, at its precision. */
  readonly at: string;
  /** The transaction that wrote it, in decimal. */
  readonly xid: string;
  readonly tenant: string;
  readonly principal: string;
  readonly key_id: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  /** JSON text. */
  readonly details: string;
  readonly request_id: string;
}

/** Every column, in the order in which they are hashed. */
export const AUDIT_FIELDS = [
  'id',
  'at',
  'xid',
  'tenant',
  'principal',
  'key_id',
  'action',
  'target',
  'outcome',
  'details',
  'request_id',
] as const satisfies readonly (keyof AuditRecord)[];
export type AuditField = (typeof AUDIT_FIELDS)[number];

/** The state of the tree at some moment, signed where there is a key for it. */
export interface AuditHead {
  /** Names the log: a UUID made with the schema. */
  readonly log: string;
  /** Leaves it speaks of: 0 to `size - 1`. */
  readonly size: number;
  /** Root hash in hex. */
  readonly root: string;
  /** PostgreSQL's system identifier of the cluster that gave out `mark`. */
  readonly system: string;
  /** Every record of that cluster's transactions below this one is among the leaves. */
  readonly mark: string;
  /** When it was made, as `at` of a record. */
  readonly at: string;
  /** The key that signed it; null: it is not signed. */
  readonly kid: string | null;
  /** Ed25519, in base64. */
  readonly signature: string | null;
}

/** A head as kept: heads are numbered from 1 without holes as long as nothing fails in between. */
export interface StoredHead extends AuditHead {
  readonly no: number;
}
