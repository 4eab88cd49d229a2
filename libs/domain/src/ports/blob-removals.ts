/** A blob that nothing names any more. `markedAtMs` is in ms since the epoch. */
export interface BlobRemoval {
  readonly tenant: string;
  readonly sha256: string;
  readonly markedAtMs: number;
}

/**
 * Marks of blobs that are to go. A mark is made by the database, in the transaction that removes a row which named the
 * blob; it is acted on no sooner than a quarter of an hour later, so that whoever has just stored the same bytes again
 * has long named them by then.
 */
export abstract class BlobRemovals {
  /** Marks that are due and hold, at most `limit`, pushed back 5 minutes in the same statement; those that do not hold are dropped. */
  abstract due(limit: number): Promise<readonly BlobRemoval[]>;
  /** Drops the mark of a blob that has gone; one made since then stays. */
  abstract settle(removal: BlobRemoval): Promise<void>;
}
