// M6: one task, a thousand readers. First they wait, which shows what an idle stream costs; then come the events.
import { subscribe, VoidRound } from './client.mjs';
import { createGate } from './gate.mjs';
import { cpuSnapshot, cpuPer } from './measure.mjs';

const READERS = 1_000;
/** Events that come together. */
const BATCH = 10;
const EVENT = { framework: 'bench', event: { step: 1, text: 'x'.repeat(40) } };

/** What readers of the bare server get: the event it greets them with, the others, and the last. */
function bareTask(side, events) {
  return {
    target: side.events,
    greeting: 1,
    count: events + 2,
    begin: () => side.publish({ events, batch: BATCH, payload: JSON.stringify(EVENT) }),
    end: () => undefined,
  };
}

/** The same of the product, which besides tells of the start and of the answer: five events more in all. */
async function productTask(side, events) {
  const gate = createGate();
  const batch = [{ repeat: BATCH, event: { type: 'agent.event', payload: EVENT } }, { wait_ms: 1 }];
  const batches = Array.from({ length: events / BATCH }, () => batch).flat();
  const taskId = await side.submit([{ until_file: gate.file }, ...batches, { result: 'done' }]);
  return { target: side.events(taskId), greeting: 2, count: events + 5, begin: gate.open, end: gate.remove };
}

/** Opens the streams; resolves when each has its greeting, with a promise of the numbers of events they bring. */
async function openStreams({ target, greeting }) {
  let greeted = 0;
  let everybody;
  const ready = new Promise((resolve) => (everybody = resolve));
  const onEvent = (seq) => {
    if (seq === greeting && ++greeted === READERS) everybody();
  };
  const counts = Promise.all(Array.from({ length: READERS }, () => subscribe(target, 0, onEvent)));
  // A stream that ends or fails before everybody is there must not be waited for.
  const early = counts.then(() => Promise.reject(new VoidRound('streams ended before there was an event')));
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return { counts };
}

/** Deliveries per second to all readers, and the heap each costs its server while nothing happens. */
export async function fanOut(side, { events }) {
  const task = await (side.publish ? bareTask(side, events) : productTask(side, events));
  try {
    const emptyBytes = await side.heapBytes();
    const { counts } = await openStreams(task);
    const streamBytes = ((await side.heapBytes()) - emptyBytes) / READERS;
    const before = cpuSnapshot(side);
    const startedMs = performance.now();
    task.begin();
    const seen = await counts;
    const seconds = (performance.now() - startedMs) / 1_000;
    const wrong = seen.find((count) => count !== task.count);
    if (wrong !== undefined) throw new VoidRound(`${side.name}: ${wrong} events instead of ${task.count} on a stream`);
    const perReader = task.count - task.greeting;
    return { rate: (perReader * READERS) / seconds, streamBytes, seconds, cpuUs: cpuPer(side, before, perReader) };
  } finally {
    task.end();
  }
}
