// Ratios per round, their median, and where the CPU went.
import { median } from './measure.mjs';

const rate = (sample) => sample?.rate;
const latency = (sample) => sample?.ms;
const cpuSum = (sample) => Object.values(sample?.cpuUs ?? {}).reduce((sum, us) => sum + us, 0);

/** How each metric follows from the samples of a round; `least` false: smaller is better. */
const FIGURES = {
  M1: {
    title: 'tasks/s over the floor',
    of: ['product.load', 'floor.load'],
    value: rate,
    least: true,
    goals: [0.45, 0.75],
  },
  M2: {
    title: "tasks/s over LangGraph's API server",
    of: ['product.load', 'langgraph.load'],
    value: rate,
    least: true,
    goals: [5, 8],
  },
  M2b: {
    title: 'tasks/s over the A2A SDK server',
    of: ['product.load', 'a2a.load'],
    value: rate,
    least: true,
    goals: [0.35, 0.55],
  },
  M3: {
    title: 'p50 ms submit to task.started over the floor',
    of: ['product.idle', 'floor.idle'],
    value: latency,
    least: false,
    goals: [2, 1.4],
  },
  M4: {
    title: 'events/s over the floor',
    of: ['product.burst', 'floor.burst'],
    value: rate,
    least: true,
    goals: [0.5, 0.7],
  },
  M6: {
    title: 'deliveries/s to 1,000 streams over a bare SSE server',
    of: ['product.fanout', 'bare.fanout'],
    value: rate,
    least: true,
    goals: [0.5, 0.8],
  },
  M6m: {
    title: 'bytes of heap per idle stream over the same',
    of: ['product.fanout', 'bare.fanout'],
    value: (sample) => sample?.streamBytes,
    least: false,
    goals: [2, 1.6],
  },
  M7: {
    title: 'replayed events/s over a raw select of the rows',
    of: ['product.replay', 'rows.replay'],
    value: rate,
    least: true,
    goals: [0.4, 0.6],
  },
  M8: {
    title: 'ms from SIGKILL to the next run over the lease',
    of: ['product.loss', 'lease.loss'],
    value: latency,
    least: false,
    goals: [1.5, 1.2],
  },
  M1p: {
    title: 'tasks/s over the floor, Postgres alone',
    of: ['product_postgres.load', 'floor_postgres.load'],
    value: rate,
    least: true,
    goals: [],
  },
};

/** What the CPU of a sample is counted for. */
const EACH = { load: 'task', burst: 'event', fanout: 'event to all' };

function figure(id, rounds) {
  const { title, of, value, least, goals } = FIGURES[id];
  const pairs = rounds.map((samples) => of.map((key) => value(samples[key])));
  const whole = pairs.filter((pair) => pair.every((number) => number !== undefined));
  const ratios = whole.map(([ours, theirs]) => ours / theirs);
  const ratio = ratios.length > 0 ? median(ratios) : undefined;
  const reached = goals.filter((goal) => ratio !== undefined && (least ? ratio >= goal : ratio <= goal)).length;
  const medians = of.map((_, at) => pairs.map((pair) => pair[at]).filter((number) => number !== undefined));
  const [ours, theirs] = medians.map((numbers) => (numbers.length > 0 ? median(numbers) : undefined));
  const cpu = rounds.map((samples) => cpuSum(samples[of[1]]) / cpuSum(samples[of[0]])).filter(Number.isFinite);
  const byCpu = least && cpu.length > 0 ? median(cpu) : undefined;
  return { id, title, ours, theirs, ratio, ratios, by_cpu: byCpu, goals, reached, rounds: whole.length };
}

function cpuTable(rounds) {
  const table = {};
  for (const key of new Set(rounds.flatMap(Object.keys))) {
    const samples = rounds.map((samples) => samples[key]?.cpuUs).filter(Boolean);
    if (samples.length === 0) continue;
    const names = Object.keys(samples[0]);
    table[key] = Object.fromEntries(
      names.map((name) => [name, Math.round(median(samples.map((sample) => sample[name])))]),
    );
  }
  return table;
}

export function summarise(ids, rounds, voids) {
  return { metrics: ids.map((id) => figure(id, rounds)), cpu_us_each: cpuTable(rounds), voids, rounds };
}

function digits(number) {
  if (number === undefined) return '-';
  return number >= 100 ? number.toFixed(0) : number.toFixed(2);
}

function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}

export function render({ metrics, cpu_us_each: cpu, voids }) {
  const rows = metrics.map(
    ({ id, title, ours, theirs, ratio, ratios, by_cpu: byCpu, goals, reached, rounds: counted }) => [
      id,
      title,
      digits(ours),
      digits(theirs),
      digits(ratio),
      ratios.length > 0 ? `${digits(Math.min(...ratios))}..${digits(Math.max(...ratios))}` : '-',
      digits(byCpu),
      goals.join(' / ') || '-',
      goals.length > 0 ? `${reached} of ${goals.length}` : '-',
      String(counted),
    ],
  );
  const head = ['', 'metric', 'ours', 'theirs', 'ratio', 'range', 'by CPU', 'goals', 'reached', 'rounds'];
  const columns = [...new Set(Object.values(cpu).flatMap(Object.keys))];
  const cpuRows = Object.entries(cpu).map(([key, used]) => {
    const total = Object.values(used).reduce((sum, us) => sum + us, 0);
    return [key, EACH[key.split('.')[1]], ...columns.map((name) => String(used[name] ?? '-')), String(total)];
  });
  const lines = [...align([head, ...rows])];
  if (cpuRows.length > 0) lines.push('', 'CPU, µs each:', ...align([['', 'per', ...columns, 'sum'], ...cpuRows]));
  return [...lines, ...voids.map((reason) => `void: ${reason}`)].join('\n');
}
