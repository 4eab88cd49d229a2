import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Chance } from './chance.js';
import type { ClientHistory } from './history.js';
import type { Installation, Member } from './installation.js';
import type { PostgresServer } from './postgres-server.js';
import type { RedisServer } from './redis-server.js';

/** Longer than a lease of 10 s, and than the look for lost runs after it. */
const FROZEN_MS = 13_000;

export interface Target {
  readonly installation: Installation;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  /** Tasks that have been submitted and are not over: a fault that meets none has struck nothing. */
  readonly busy: () => number;
}

export type Fault = keyof typeof FAULTS;

/** Breaks one thing after the other, each as often as any other, and repairs it; keeps count. */
export class Saboteur {
  private deck: Fault[] = [];
  private isStopped = false;

  constructor(
    private readonly target: Target,
    private readonly history: ClientHistory,
    private readonly chance: Chance,
  ) {}

  /** Nothing more is broken. */
  stop(): void {
    this.isStopped = true;
  }

  /** Breaks these in order, with pauses of `pauseMs`; resolves when all is repaired. */
  async breakEach(faults: readonly Fault[], pauseMs: number): Promise<void> {
    for (const fault of faults) {
      await delay(pauseMs);
      await this.strike(fault);
    }
  }

  /** Breaks whatever comes until so many ms have passed, with pauses of up to `pauseMs`; resolves when all is repaired. */
  async goOn(forMs: number, pauseMs: number): Promise<void> {
    const endMs = performance.now() + forMs;
    while (performance.now() < endMs && !this.isStopped) {
      await delay(this.chance.between(pauseMs / 2, pauseMs));
      await this.strike(this.next());
    }
  }

  private next(): Fault {
    if (this.deck.length === 0) this.deck = this.chance.shuffle(Object.keys(FAULTS) as Fault[]);
    return this.deck.pop() as Fault;
  }

  private async strike(fault: Fault): Promise<void> {
    if (this.isStopped) return;
    const isBusy = this.target.busy() > 0;
    await FAULTS[fault](this.target, this.chance);
    if (isBusy) this.history.struck(fault);
  }
}

function take(members: Member[], chance: Chance): Member {
  const [member] = members.splice(chance.between(0, members.length - 1), 1);
  if (member === undefined) throw new Error('there is no process left to take');
  return member;
}

const FAULTS = {
  async 'SIGKILL of a runtime'({ installation }: Target, chance: Chance) {
    await take(installation.runtimes, chance).end('SIGKILL');
    await installation.addRuntime();
  },
  async 'SIGTERM to a runtime'({ installation }: Target, chance: Chance) {
    await take(installation.runtimes, chance).end('SIGTERM');
    await installation.addRuntime();
  },
  async 'SIGSTOP of a runtime past its lease'({ installation }: Target, chance: Chance) {
    const runtime = chance.pick(installation.runtimes as [Member, ...Member[]]);
    runtime.signal('SIGSTOP');
    await delay(FROZEN_MS);
    runtime.signal('SIGCONT');
  },
  async 'SIGKILL of a gateway'({ installation }: Target, chance: Chance) {
    await take(installation.gateways, chance).end('SIGKILL');
    await installation.addGateway();
  },
  async 'SIGTERM to a gateway'({ installation }: Target, chance: Chance) {
    await take(installation.gateways, chance).end('SIGTERM');
    await installation.addGateway();
  },
  async 'restart of Redis, which forgets everything'({ redis }: Target, chance: Chance) {
    await redis.kill();
    await delay(chance.between(200, 3_000));
    await redis.start();
  },
  async 'FLUSHALL of Redis'({ redis }: Target) {
    await redis.run((client) => client.flushall());
  },
  async 'crash of Postgres'({ postgres }: Target, chance: Chance) {
    await postgres.stop('as a crash');
    await delay(chance.between(0, 2_000));
    await postgres.start();
  },
  async 'restart of Postgres'({ postgres }: Target) {
    await postgres.stop('in order');
    await postgres.start();
  },
  async 'all connections to Postgres cut'({ postgres }: Target) {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await client.end();
  },
} satisfies Record<string, (target: Target, chance: Chance) => Promise<void>>;
