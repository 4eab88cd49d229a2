import type { AuditLedger, Logger, StoredHead } from '#lib/domain';

/** Heads sent at once. */
const BATCH = 100;

/** A place for heads where those who administer the database cannot write. */
export interface HeadSink {
  /** Names it in the database and in logs. */
  readonly name: string;
  /** The number of the last head it has, where it knows better than the database. */
  last?(): Promise<number>;
  /** Resolves when they are safe there. They may come again. */
  send(heads: readonly StoredHead[]): Promise<void>;
}

/** Brings every head to every sink, in order, at least once; a sink that fails is tried again at the next turn. */
export class HeadExports {
  readonly name = 'audit-heads';
  readonly everyMs = 1_000;
  private readonly failing = new Set<string>();

  constructor(
    private readonly ledger: AuditLedger,
    private readonly sinks: readonly HeadSink[],
    private readonly logger: Logger,
  ) {}

  /** Whether some sink has not taken what it was last sent. */
  get isFailing(): boolean {
    return this.failing.size > 0;
  }

  async runOnce(): Promise<void> {
    await Promise.all(this.sinks.map((sink) => this.bring(sink)));
  }

  private async bring(sink: HeadSink): Promise<void> {
    try {
      while (await this.step(sink));
      this.failing.delete(sink.name);
    } catch (error) {
      if (!this.failing.has(sink.name)) this.logger.error('audit heads cannot be exported', { sink: sink.name, error });
      this.failing.add(sink.name);
    }
  }

  private async step(sink: HeadSink): Promise<boolean> {
    const after = await (sink.last?.() ?? this.ledger.exported(sink.name));
    const heads = await this.ledger.headsAfter(after, BATCH);
    const last = heads.at(-1);
    if (last === undefined) return false;
    await sink.send(heads);
    await this.ledger.setExported(sink.name, last.no);
    return heads.length === BATCH;
  }
}
