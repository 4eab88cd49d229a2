import type { LimitStanding, UsageStore } from '#lib/domain';
import type { Caller } from './caller.js';
import type { Limits, LimitTable } from './limits.js';
import { type Obstacle, TaskCounts } from './task-counts.js';

/** How often a caller's task is weighed, with a new count each time, before it is refused. */
const MAX_ROUNDS = 10;
/** Tenants whose count is kept; who was away longest goes first. */
const MAX_TENANTS = 10_000;

/** Called once, with whether there is a task now. */
export type TaskAdmission = (isCreated: boolean) => void;

const UNCOUNTED: TaskAdmission = () => undefined;

/** Decides whether a tenant may have one more task. */
export class TaskQuota {
  private readonly tenants = new Map<string, TaskCounts>();

  constructor(
    private readonly store: UsageStore,
    private readonly table: LimitTable,
    private readonly gateways: () => number,
    private readonly nowMs: () => number,
  ) {}

  /** Decides by what is known, without a query, unless nothing is known yet or a limit is near. */
  admit(caller: Caller): TaskAdmission | Promise<TaskAdmission | LimitStanding> {
    const ofTenant = this.table.ofTenant(caller.tenant);
    const ofKey = this.table.ofKey(caller.keyId);
    const isKeyLimited = isTaskLimited(ofKey);
    if (!isKeyLimited && !isTaskLimited(ofTenant)) return UNCOUNTED;
    const counts = this.countsOf(caller.tenant, ofTenant);
    if (!counts.isCounted || this.obstacle(counts, caller, ofKey)) return this.weigh(counts, caller, ofKey);
    counts.refresh(this.gateways(), Math.min(leastOf(ofTenant), leastOf(ofKey)));
    return counts.enter(caller.principal, isKeyLimited);
  }

  private async weigh(counts: TaskCounts, caller: Caller, ofKey: Limits): Promise<TaskAdmission | LimitStanding> {
    if (!counts.isCounted) await counts.recount();
    for (let round = 0; ; round++) {
      const obstacle = this.obstacle(counts, caller, ofKey);
      if (!obstacle) return counts.enter(caller.principal, isTaskLimited(ofKey));
      if (round === MAX_ROUNDS || (obstacle.isCounted && counts.isFresh)) return obstacle.standing;
      await counts.recount();
    }
  }

  private obstacle(counts: TaskCounts, { principal }: Caller, ofKey: Limits): Obstacle | undefined {
    const gateways = this.gateways();
    const ofTenant = counts.ofTenant(gateways);
    if (ofTenant || !isTaskLimited(ofKey)) return ofTenant;
    return counts.ofPrincipal(principal, ofKey, gateways);
  }

  private countsOf(tenant: string, limits: Limits): TaskCounts {
    const known = this.tenants.get(tenant);
    if (known) return known;
    const counts = new TaskCounts(this.store, tenant, limits, this.nowMs);
    this.tenants.set(tenant, counts);
    const [oldest] = this.tenants.keys();
    if (this.tenants.size > MAX_TENANTS && oldest !== undefined) this.tenants.delete(oldest);
    return counts;
  }
}

function isTaskLimited(limits: Limits): boolean {
  return leastOf(limits) !== Infinity;
}

function leastOf({ queuedTasks, runningTasks }: Limits): number {
  return Math.min(queuedTasks, runningTasks);
}
