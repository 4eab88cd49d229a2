// Runs one task whose tool streams 50 MB, in a process of its own, and prints what that cost it as JSON.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { RunnerAdapter, RunnerItem } from '#lib/adapters/contract';
import { EventWriter } from '#lib/execution';
import { GuardedOutbound } from '#lib/security';
import { openStorage } from '#lib/storage';
import { AdapterHost } from '../../apps/runtime/src/execution/adapter.host.js';
import { LiveRuns } from '../../apps/runtime/src/execution/live-runs.js';
import { StallWatch } from '../../apps/runtime/src/execution/stall.watch.js';
import { TaskExecutor } from '../../apps/runtime/src/execution/task.executor.js';
import { Workspaces } from '../../apps/runtime/src/execution/workspaces.js';
import { createClaim } from './claims.js';
import { everyRunHas } from './fake-tools.js';
import { MemoryEventBus } from './memory-event-bus.js';
import { MemoryEventLog } from './memory-event-log.js';
import { MemoryLeaseKeeper } from './memory-lease-keeper.js';
import { scriptedDescriptor } from './scripted/index.js';
import { SilentLogger } from './silent-logger.js';

const CALL = { tool_call_id: 'c1', tool_name: 'dump' };
const PIECE_BYTES = 250_000;

/** What the child prints. */
export interface LargeOutputCost {
  /** Types of the events that were stored. */
  readonly types: readonly string[];
  /** Size in bytes that the log says of the output. */
  readonly size: number;
  /** Length of the preview that the model got. */
  readonly previewLength: number;
  readonly rssGrowthBytes: number;
  /** 99th percentile of how late the event loop was, in ms. */
  readonly loopDelayP99Ms: number;
}

/** Text in pieces, each of them new memory. */
async function* dump(megabytes: number): AsyncGenerator<string> {
  for (let sent = 0; sent < megabytes * 1_000_000; sent += PIECE_BYTES) {
    yield String(sent % 10).repeat(PIECE_BYTES);
  }
}

let previewLength = 0;

const adapter: RunnerAdapter = {
  async *start({ input, tools }): AsyncGenerator<RunnerItem> {
    yield { kind: 'event', type: 'tool.invoked', payload: CALL };
    const output = (await tools.call('dump', input, CALL.tool_call_id)) as { readonly preview: string };
    previewLength = output.preview.length;
    yield { kind: 'event', type: 'tool.completed', payload: { ...CALL, output } };
    yield { kind: 'result', result: { text: 'done', metadata: {} } };
  },
  health: async () => undefined,
  close: async () => undefined,
};

const dir = await mkdtemp(path.join(tmpdir(), 'switchyard-large-output-'));
const log = new MemoryEventLog();
const bus = new MemoryEventBus();
const logger = new SilentLogger();
const writer = new EventWriter({ log, bus, logger });
const stalls = new StallWatch(writer);
const live = new LiveRuns(
  { leases: new MemoryLeaseKeeper(), bus, stalls, logger },
  { runtimeId: 'rt', leaseMs: 60_000 },
);
const { blobs } = await openStorage({ kind: 'disk', dir });
const executor = new TaskExecutor({
  adapters: new AdapterHost([{ descriptor: scriptedDescriptor, create: () => adapter }], {
    databaseUrl: '',
    executeModelCode: false,
  }),
  writer,
  blobs,
  outbound: new GuardedOutbound({ rules: [], allowPublic: false }),
  live,
  stalls,
  workspaces: new Workspaces({ root: path.join(dir, 'work'), maxBytes: 1e9 }, blobs),
  tools: everyRunHas({ dump: async (megabytes: number) => dump(megabytes) }),
  tokens: () => () => Promise.reject(new Error('no tokens')),
  customisers: [],
  logger,
});

async function run(megabytes: number): Promise<Pick<LargeOutputCost, 'types' | 'size'>> {
  const claim = createClaim({ input: String(megabytes) });
  log.claimed(claim.taskKey, claim.runNo);
  const liveRun = live.open({ claim, claimedAtMs: performance.now() });
  await executor.execute(liveRun);
  live.close(liveRun);
  const events = log.events(claim.taskKey);
  const completed = events.find(({ type }) => type === 'tool.completed')?.payload ?? '{}';
  const { artifact } = JSON.parse(completed) as { readonly artifact?: { readonly size: number } };
  return { types: events.map(({ type }) => type), size: artifact?.size ?? 0 };
}

async function measure(): Promise<LargeOutputCost> {
  await run(5);
  const before = process.memoryUsage.rss();
  let peak = before;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
  delay.enable();
  const outcome = await run(50);
  delay.disable();
  clearInterval(watch);
  return { ...outcome, previewLength, rssGrowthBytes: peak - before, loopDelayP99Ms: delay.percentile(99) / 1e6 };
}

await live.start();
try {
  process.stdout.write(JSON.stringify(await measure()));
} finally {
  live.stop();
  await writer.close();
  await rm(dir, { recursive: true, force: true });
}
