/**
 * That records of the first leaves are not kept any longer: said before they are removed, by who seals. What is gone
 * without having been named in one of these was taken away.
 */
export interface AuditPruning {
  /** Names the log. */
  readonly log: string;
  /** Whose records; null: everybody's. */
  readonly tenant: string | null;
  /** Those of the leaves 0 to `size - 1`. */
  readonly size: number;
  /** Root hash of the tree of so many leaves, in hex. */
  readonly root: string;
  /** When the last of them had been sealed for sure: `at` of the head of that size. */
  readonly sealedAt: string;
  /** How long they were to be kept. */
  readonly days: number;
  /** When it was said; the database's time, as `at` of a record. */
  readonly at: string;
  /** The key that signed it; null: it is not signed. */
  readonly kid: string | null;
  /** Ed25519, in base64. */
  readonly signature: string | null;
}
