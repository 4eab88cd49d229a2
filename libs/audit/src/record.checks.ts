import { alteredFields, isDigestOf } from './digest.js';
import type { Finding, PlacedDigest } from './findings.js';

/** Records that are not those of their leaves are held against each other, so many at most. */
const MAX_STRANGERS = 500;
/** Places looked at for records that stand elsewhere, all together: a file must not say how long it takes. */
const MAX_TRIES = 2_000_000;

interface Moved {
  readonly item: PlacedDigest;
  readonly sealedAs: number;
  /** The record that stands before it. */
  readonly before: PlacedDigest | undefined;
}

/**
 * Holds each record against its digest. A digest knows the number its record was sealed as, so one that stands elsewhere is
 * known; what that means shows with the record that comes next.
 */
export class RecordChecks {
  /** How far records stand from where they were sealed, as has been found already. */
  private shift = 0;
  private moved: Moved | undefined;
  private before: PlacedDigest | undefined;
  private readonly strangers: PlacedDigest[] = [];
  private tries = MAX_TRIES;

  constructor(
    private readonly size: number,
    private readonly report: (finding: Finding) => void,
  ) {}

  add(item: PlacedDigest): void {
    const { leaf, record, digest } = item;
    const isInPlace = isDigestOf(digest, record, leaf + this.shift);
    if (isInPlace) this.settle(undefined);
    else this.addOther(item);
    this.before = item;
  }

  /** After the last record. */
  end(): void {
    this.settle(undefined);
    for (const item of this.strangers) this.reportStranger(item);
  }

  private addOther(item: PlacedDigest): void {
    const { leaf, record, digest } = item;
    const fields = alteredFields(digest, record);
    const sealedAs = fields.length === 0 ? this.placeOf(item) : undefined;
    this.settle(sealedAs);
    if (sealedAs === leaf + this.shift) return;
    if (sealedAs !== undefined) this.moved = { item, sealedAs, before: this.before };
    else if (fields.includes('id') && this.strangers.length < MAX_STRANGERS) this.strangers.push(item);
    else this.report({ kind: 'altered', leaf, id: record.id, fields });
  }

  /** Says what a record that was found elsewhere comes to, now that it is known whether the next one has moved with it. */
  private settle(next: number | undefined): void {
    if (this.moved === undefined) return;
    const { item, sealedAs, before } = this.moved;
    this.moved = undefined;
    const { leaf, record } = item;
    if (next !== sealedAs + 1) return this.report({ kind: 'reordered', leaf, sealedAs, id: record.id });
    const due = leaf + this.shift;
    if (sealedAs > due) this.report({ kind: 'missing', from: due, to: sealedAs });
    else this.report({ kind: 'inserted', leaf: leaf - 1, id: before?.record.id ?? record.id });
    this.shift = sealedAs - leaf;
  }

  /** A record with the digest of another: it changed places with one like it, or all of it was altered. */
  private reportStranger({ leaf, record, digest }: PlacedDigest): void {
    const own = this.strangers.find((other) => isDigestOf(other.digest, record, other.leaf + this.shift));
    if (own) this.report({ kind: 'reordered', leaf, sealedAs: own.leaf, id: record.id });
    else this.report({ kind: 'altered', leaf, id: record.id, fields: alteredFields(digest, record) });
  }

  /** The number the record was sealed as; undefined: none of this log, or too far away. The nearest are tried first. */
  private placeOf({ leaf, record, digest }: PlacedDigest): number | undefined {
    for (let away = 1; away <= this.size && this.tries > 0; away += 1) {
      this.tries -= 2;
      for (const place of [leaf + away, leaf - away]) {
        if (place >= 0 && place <= this.size && isDigestOf(digest, record, place)) return place;
      }
    }
    return undefined;
  }
}
