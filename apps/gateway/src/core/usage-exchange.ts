import { randomUUID } from 'node:crypto';
import type { GatewayUsage, Logger, UsagePeriod, UsageStore } from '#lib/domain';
import type { MeterBook } from './meter-book.js';

/** How often gateways tell each other what they let through, in ms. */
export const EXCHANGE_MS = 1_000;
/** Periods that are told again, for gateways that missed one. */
const TOLD_PERIODS = 5;
/** Gateways that are remembered. */
const MAX_SEEN = 1_000;

/** Keeps the meters of this gateway in step with those of the others, one statement a second. */
export class UsageExchange {
  /** Those that have told something lately, this one among them. */
  liveGateways = 1;
  private readonly id = randomUUID();
  private periods: readonly UsagePeriod[] = [];
  private number = 0;
  /** The last period of each gateway that was taken in. */
  private readonly seen = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isFailing = false;

  constructor(
    private readonly store: UsageStore,
    private readonly book: MeterBook,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.exchange(), EXCHANGE_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
    await this.store.leave(this.id).catch(() => undefined);
  }

  /** Never rejects: without the others every gateway goes by what it knows. */
  exchange(): Promise<void> {
    this.running ??= this.tell().finally(() => (this.running = undefined));
    return this.running;
  }

  private async tell(): Promise<void> {
    const requests = this.book.takeSpent();
    this.periods = [...this.periods.slice(1 - TOLD_PERIODS), { number: ++this.number, requests }];
    try {
      this.learn(await this.store.exchange(this.id, { periods: this.periods, open: this.book.open() }));
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing)
        this.logger.warn('Limits hold for this gateway alone: the others cannot be asked', { error });
      this.isFailing = true;
    }
  }

  private learn(told: ReadonlyMap<string, GatewayUsage>): void {
    this.liveGateways = told.size + 1;
    const fresh = [...told].flatMap(([id, { periods }]) => this.unseen(id, periods));
    this.book.hear(
      fresh,
      [...told.values()].flatMap(({ open }) => open),
    );
  }

  private unseen(id: string, periods: readonly UsagePeriod[]): readonly UsagePeriod[] {
    const last = this.seen.get(id) ?? 0;
    this.seen.delete(id);
    this.seen.set(id, Math.max(last, ...periods.map(({ number }) => number)));
    const [oldest] = this.seen.keys();
    if (this.seen.size > MAX_SEEN && oldest !== undefined) this.seen.delete(oldest);
    return periods.filter(({ number }) => number > last);
  }
}
