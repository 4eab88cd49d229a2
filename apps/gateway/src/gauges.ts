import type { Metrics, Reading, RunQueue } from '#lib/domain';
import type { INestApplication } from '@nestjs/common';
import { AgentDirectory } from './core/agent.directory.js';
import { EventStreams } from './http/sse.js';
import type { Infrastructure } from './infrastructure.js';

/** More due rows than these are an alert whatever their number is. */
const MAX_DUE = 10_000;

/** What is looked up when somebody asks for the metrics, rather than counted. */
export function openGauges(app: INestApplication, { ports, runs }: Infrastructure): void {
  const { metrics, queue }: { readonly metrics: Metrics; readonly queue: RunQueue } = ports;
  const streams = app.get(EventStreams, { strict: false });
  const agents = app.get(AgentDirectory, { strict: false });
  metrics.gauge('switchyard_streams_open', () => [[{}, streams.size]]);
  metrics.gauge('switchyard_outbox_due', async () => [[{}, await runs.countDue(MAX_DUE)]]);
  metrics.gauge('switchyard_webhooks_due', async () => [[{}, await ports.deliveries.countDue(MAX_DUE)]]);
  metrics.gauge('switchyard_queue_depth', () => depthsOf(queue, poolsOf(agents)));
}

function depthsOf(queue: RunQueue, pools: ReadonlySet<string>): Promise<Reading<'switchyard_queue_depth'>> {
  return Promise.all([...pools].map(async (pool) => [{ pool }, await queue.depth(pool)] as const));
}

/** The queues that tasks of the declared agents go to. */
function poolsOf(agents: AgentDirectory): ReadonlySet<string> {
  const backends = agents.all().flatMap(({ routes }) => routes.flatMap((route) => route.backends));
  return new Set(backends.map(({ pool, runner }) => pool ?? runner));
}
