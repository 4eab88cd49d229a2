// M7: a log of 10,000 events that goes on growing, as a stream and as the rows it is made of.
import pg from 'pg';
import { subscribe, VoidRound } from './client.mjs';
import { createGate } from './gate.mjs';
import { median } from './measure.mjs';

const EVENTS = 10_000;
const EVENT = { type: 'agent.event', payload: { framework: 'bench', event: { step: 1, text: 'x'.repeat(40) } } };
/** How often another event comes while the log is read. */
const LIVE_EVERY_MS = 20;
/** So many of those a replay must have brought before it counts: it has passed from the log to what is live. */
const LIVE_EVENTS = 3;
const ROWS = `select seq, event_id, event_type, at, payload from events join tasks using (task_key)
  where task_id = $1 and seq <= $2 order by seq`;

async function readStream(side, taskId) {
  const startedMs = performance.now();
  let tookMs;
  const count = await subscribe(side.events(taskId), 0, (seq) => {
    if (seq === EVENTS) tookMs = performance.now() - startedMs;
    return seq === EVENTS + LIVE_EVENTS;
  });
  if (count !== EVENTS + LIVE_EVENTS) throw new VoidRound(`${side.name}: a replay ended after ${count} events`);
  return tookMs;
}

async function readRows(client, taskId) {
  const startedMs = performance.now();
  const { rows } = await client.query({ name: 'rows', text: ROWS, values: [taskId, EVENTS] });
  const tookMs = performance.now() - startedMs;
  if (rows.length !== EVENTS) throw new VoidRound(`the log has ${rows.length} rows instead of ${EVENTS}`);
  return tookMs;
}

/** Events per second of both, read in turns. */
export async function replay(side, { replays }) {
  const gate = createGate();
  const client = new pg.Client({ connectionString: side.databaseUrl, options: '-c search_path=switchyard' });
  await client.connect();
  try {
    const burst = { repeat: EVENTS - 2, event: EVENT };
    const live = { until_file: gate.file, every_ms: LIVE_EVERY_MS, meanwhile: EVENT };
    const taskId = await side.submit([burst, live, { result: 'done' }]);
    await readStream(side, taskId);
    const [streams, rows] = [[], []];
    for (let turn = 0; turn < replays; turn += 1) {
      rows.push(await readRows(client, taskId));
      streams.push(await readStream(side, taskId));
    }
    const rate = (times) => (EVENTS / median(times)) * 1_000;
    return { 'product.replay': { rate: rate(streams) }, 'rows.replay': { rate: rate(rows) } };
  } finally {
    gate.open();
    await client.end();
    gate.remove();
  }
}
