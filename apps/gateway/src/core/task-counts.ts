import type { LimitStanding, OpenTasks, UsageStore } from '#lib/domain';
import { setTimeout as delay } from 'node:timers/promises';
import type { Limits, LimitScope } from './limits.js';

/** A count is believed this long while other gateways submit too, in ms. */
const TRUST_MS = 1_000;
/** And this long when this gateway is alone and far from a limit: it knows of all that came since. */
const TRUST_ALONE_MS = 30_000;
/** A count that was taken so lately is not taken again for a caller who is at the limit, in ms. */
const FRESH_MS = 100;
/** Pause before a count that somebody waits for, so that many who wait cost one. */
const PAUSE_MS = 25;
/** Counting takes at most this part of a connection's time. */
const MAX_LOAD = 1 / 20;
/** Tasks looked at in one count; more count as so many. */
const MAX_COUNTED = 200_000;

/** Tasks this gateway let in since they were counted. */
class Ledger {
  /** Their submission has not been answered by the database yet. */
  inFlight = 0;
  private created = 0;
  private createdAtCount = 0;
  private createdAtStart = 0;

  settle(isCreated: boolean): void {
    this.inFlight -= 1;
    if (isCreated) this.created += 1;
  }

  get sinceCount(): number {
    return this.created - this.createdAtCount + this.inFlight;
  }

  /** What is in flight when a count begins may be in it or not: it stays on top, so that a limit is not passed. */
  begin(): void {
    this.createdAtStart = this.created;
  }

  end(): void {
    this.createdAtCount = this.createdAtStart;
  }
}

/** The tasks of one tenant that have not ended: as they were counted last, and what came since. */
export class TaskCounts {
  private total = { queued: 0, started: 0 };
  private byPrincipal: ReadonlyMap<string, OpenTasks> = new Map();
  private readonly all = new Ledger();
  private readonly ledgers = new Map<string, Ledger>();
  private countedAtMs = -Infinity;
  private tookMs = 0;
  private counting: Promise<void> | undefined;

  constructor(
    private readonly store: UsageStore,
    private readonly tenant: string,
    private readonly limits: Limits,
    private readonly nowMs: () => number,
  ) {}

  get isCounted(): boolean {
    return this.countedAtMs !== -Infinity;
  }

  /** True when a count would tell the same. */
  get isFresh(): boolean {
    return this.nowMs() - this.countedAtMs < Math.max(FRESH_MS, this.tookMs / MAX_LOAD);
  }

  /** What is in the way of one more task of the tenant. `gateways`: how many share what is left. */
  ofTenant(gateways: number): Obstacle | undefined {
    return obstacle({
      scope: 'tenant',
      limits: this.limits,
      counted: this.total,
      since: this.all.sinceCount,
      gateways,
    });
  }

  /** The same for one principal, by the limits of the key it uses. */
  ofPrincipal(principal: string, limits: Limits, gateways: number): Obstacle | undefined {
    const counted = this.byPrincipal.get(principal) ?? { queued: 0, started: 0 };
    const since = this.ledgers.get(principal)?.sinceCount ?? 0;
    return obstacle({ scope: 'key', limits, counted, since, gateways });
  }

  /** Counts a task in; the function is to be called once, with whether there is one. */
  enter(principal: string, isPrincipalLimited: boolean): (isCreated: boolean) => void {
    const { all } = this;
    all.inFlight += 1;
    if (!isPrincipalLimited) return (isCreated) => all.settle(isCreated);
    const ledger = this.ledgers.get(principal) ?? new Ledger();
    this.ledgers.set(principal, ledger);
    ledger.inFlight += 1;
    return (isCreated) => {
      all.settle(isCreated);
      ledger.settle(isCreated);
    };
  }

  /** Counts again in the background when what is known is too old to go by. */
  refresh(gateways: number, leastLimit: number): void {
    const ageMs = this.nowMs() - this.countedAtMs;
    if (this.counting || ageMs < Math.max(TRUST_MS, this.tookMs / MAX_LOAD)) return;
    const known = this.total.queued + this.total.started + this.all.sinceCount;
    if (gateways === 1 && ageMs < TRUST_ALONE_MS && known * 2 < leastLimit) return;
    // Who submits is told when the database is away.
    this.recount().catch(() => undefined);
  }

  /** Many who wait share one count. @throws DomainError `unavailable` */
  recount(): Promise<void> {
    this.counting ??= this.count().finally(() => (this.counting = undefined));
    return this.counting;
  }

  private async count(): Promise<void> {
    if (this.nowMs() - this.countedAtMs < PAUSE_MS) await delay(PAUSE_MS);
    const startedAtMs = this.nowMs();
    for (const ledger of [this.all, ...this.ledgers.values()]) ledger.begin();
    const held = new Set(this.ledgers.values());
    const atMost = Math.min(MAX_COUNTED, this.limits.queuedTasks + this.limits.runningTasks + 1);
    const rows = await this.store.openTasks(this.tenant, atMost);
    this.tookMs = this.nowMs() - startedAtMs;
    this.countedAtMs = this.nowMs();
    this.total = rows.reduce(
      (sum, { queued, started }) => ({ queued: sum.queued + queued, started: sum.started + started }),
      { queued: 0, started: 0 },
    );
    this.byPrincipal = new Map(rows.map((row) => [row.principal, row]));
    this.all.end();
    for (const [principal, ledger] of this.ledgers) {
      if (!held.has(ledger)) continue;
      ledger.end();
      if (ledger.sinceCount === 0) this.ledgers.delete(principal);
    }
  }
}

/** Why a task cannot be let in; `isCounted`: by what the database says, not by what may have ended meanwhile. */
export interface Obstacle {
  readonly standing: LimitStanding;
  readonly isCounted: boolean;
}

interface Position {
  readonly scope: LimitScope;
  readonly limits: Limits;
  readonly counted: Pick<OpenTasks, 'queued' | 'started'>;
  readonly since: number;
  readonly gateways: number;
}

/**
 * Each gateway gives out its part of what was left at the last count, at least one, and then counts again: so they
 * converge on the limit, and pass it by one each at the most, and by what is in flight elsewhere while one counts.
 */
function obstacle({ scope, limits, counted, since, gateways }: Position): Obstacle | undefined {
  const standing = (what: string, quota: number): LimitStanding => {
    return { policy: `${scope}-${what}`, quota, unit: 'tasks', remaining: 0 };
  };
  if (counted.started >= limits.runningTasks)
    return { standing: standing('running-tasks', limits.runningTasks), isCounted: true };
  const left = limits.queuedTasks - counted.queued;
  if (left > 0 && since < Math.ceil(left / gateways)) return undefined;
  return { standing: standing('queued-tasks', limits.queuedTasks), isCounted: left <= 0 };
}
