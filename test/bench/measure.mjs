// What is measured on one side in one round.
import { runTask } from './client.mjs';
import { cpuUs } from './processes.mjs';

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** CPU time used so far by a side's processes and by the bench, in µs. */
export function cpuSnapshot(side) {
  const own = process.cpuUsage();
  const used = Object.entries(side.processes).map(([name, pid]) => [name, cpuUs(pid)]);
  return { ...Object.fromEntries(used), client: own.user + own.system };
}

/** What was used since that snapshot, for each of `count` things. */
export function cpuPer(side, before, count) {
  const after = cpuSnapshot(side);
  return Object.fromEntries(Object.keys(before).map((name) => [name, (after[name] - before[name]) / count]));
}

/** Keeps `clients` tasks going for `windowMs` and lets the last ones finish; rates count the time until then. */
export async function throughput(side, { kind, clients, windowMs }) {
  const before = cpuSnapshot(side);
  const startedMs = performance.now();
  let [tasks, events] = [0, 0];
  const client = async () => {
    while (performance.now() - startedMs < windowMs) {
      const seen = await runTask(side, kind);
      events += seen;
      tasks += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedMs) / 1000;
  const each = kind === 'burst' ? events : tasks;
  return { rate: each / seconds, tasks, events, seconds, cpuUs: cpuPer(side, before, each) };
}

/** Median ms from submit to the event that tells of the start, one task at a time on an idle system. */
export async function startLatency(side, { probes }) {
  const latencies = [];
  for (let probe = 0; probe < probes; probe += 1) {
    const startedMs = performance.now();
    let sawMs;
    await runTask(side, 'task', (frame) => {
      if (frame.includes('task.started')) sawMs ??= performance.now() - startedMs;
    });
    latencies.push(sawMs);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { ms: median(latencies), p95: [...latencies].sort((a, b) => a - b)[Math.floor(latencies.length * 0.95)] };
}
