import { consistencyProof, type ExportLine, exportLines, hashesFrom, inclusionProof, leafHash } from '#lib/audit';
import {
  type AuditFilter,
  type AuditReader,
  type AuditTrail,
  DomainError,
  type Page,
  type PageRequest,
  type PlacedRecord,
  type StoredHead,
  UnavailableError,
} from '#lib/domain';
import { auditOf, type Caller } from './caller.js';

/** Stands for every tenant. */
const EVERY_TENANT = '*';

/** What an auditor asks for; `tenant` is their own unless they say otherwise. */
export interface AuditAsk {
  readonly filter: AuditFilter;
  readonly requestId: string;
}

/** That a record is in the tree of a head. */
export interface AuditProof {
  readonly placed: PlacedRecord;
  readonly leafHash: Uint8Array;
  readonly head: StoredHead;
  readonly proof: readonly Uint8Array[];
}

/** A public key that signs heads, or has signed some. */
export interface PublishedKey {
  readonly kid: string;
  /** SPKI in PEM. */
  readonly publicKey: string;
}

/** The audit trail for auditors. That they read it is recorded before they see anything. */
export class AuditService {
  constructor(
    private readonly reader: AuditReader,
    private readonly trail: AuditTrail,
    private readonly ownKeys: readonly PublishedKey[],
  ) {}

  /** Newest first. @throws DomainError `forbidden` for another tenant */
  async search(caller: Caller, { filter, requestId }: AuditAsk, page: PageRequest): Promise<Page<PlacedRecord>> {
    const within = reachOf(caller, filter);
    await this.record(caller, {
      action: 'audit.search',
      target: filter.tenant ?? caller.tenant,
      details: { filter },
      requestId,
    });
    return this.reader.search(within, page);
  }

  /** Every line of an export, some at a time. @throws DomainError `forbidden` for another tenant */
  async export(
    caller: Caller,
    { filter, requestId }: AuditAsk,
    format: string,
  ): Promise<AsyncIterable<readonly ExportLine[]>> {
    const within = reachOf(caller, filter);
    const details = { filter, format };
    await this.record(caller, { action: 'audit.export', target: filter.tenant ?? caller.tenant, details, requestId });
    return exportLines(this.reader, within);
  }

  /**
   * @param size of the head to prove it by; absent: the newest.
   * @throws DomainError `not_found`; `unavailable` while the record is not sealed
   */
  async prove(
    caller: Caller,
    id: string,
    { size, requestId }: { readonly size?: number; readonly requestId: string },
  ): Promise<AuditProof> {
    const placed = await this.reader.find(caller.scopes.has('platform:admin') ? undefined : caller.tenant, id);
    if (!placed) throw new DomainError('not_found', 'There is no such audit record.');
    await this.record(caller, {
      action: 'audit.prove',
      target: id,
      details: size === undefined ? {} : { size },
      requestId,
    });
    const { leaf, digest } = placed;
    if (leaf === null || digest === null) throw new UnavailableError('The record is not sealed yet.');
    const head = await this.reader.head(size);
    if (!head || head.size <= leaf || (size !== undefined && head.size !== size)) {
      throw new DomainError('not_found', 'There is no head of that size with this record in it.');
    }
    const proof = await inclusionProof(leaf, head.size, hashesFrom(this.reader.tree));
    return { placed, leafHash: leafHash(digest), head, proof };
  }

  /** Heads after this number, oldest first. */
  heads(no: number, limit: number): Promise<readonly StoredHead[]> {
    return this.reader.headsAfter(no, limit);
  }

  /** That the tree of `second` leaves begins with that of `first`. @throws DomainError `not_found`, `gone` */
  async consistency(first: number, second: number): Promise<readonly Uint8Array[]> {
    const newest = await this.reader.head();
    if (!newest || first < 1 || first > second || second > newest.size) {
      throw new DomainError('not_found', 'There are no trees of these sizes.');
    }
    if (first < (await this.reader.firstLeaf())) {
      throw new DomainError('gone', 'The hashes of a tree that small are not kept any longer.');
    }
    return consistencyProof(first, second, hashesFrom(this.reader.tree));
  }

  /** Every key that has signed, and those that this gateway signs with. */
  async keys(): Promise<readonly PublishedKey[]> {
    const used = await this.reader.keys();
    const others = this.ownKeys.filter(({ kid }) => used.every((key) => key.kid !== kid));
    return [...used, ...others];
  }

  private record(caller: Caller, deed: Parameters<typeof auditOf>[1]): Promise<void> {
    return this.trail.record([auditOf(caller, deed)]);
  }
}

/** @throws DomainError `forbidden` */
function reachOf({ tenant, scopes }: Caller, filter: AuditFilter): AuditFilter {
  const { tenant: asked = tenant, ...rest } = filter;
  // A tenant may be called anything, also what stands for all of them.
  const isOwn = asked === tenant && asked !== EVERY_TENANT;
  if (!isOwn && !scopes.has('platform:admin')) {
    throw new DomainError('forbidden', 'Other tenants need the scope platform:admin.');
  }
  return asked === EVERY_TENANT ? rest : { ...rest, tenant: asked };
}
