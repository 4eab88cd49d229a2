// The floor's worker: every task is a start, what it did and an end, each stored before anyone sees it.
import { createLog } from './log.mjs';
import { createBus, createPool, createWorker } from './services.mjs';
import { v7 as uuidv7 } from 'uuid';

const pool = createPool(1);
const append = createLog(pool, await createBus());
const WINDOW = 250;

function event(taskId, seq, events) {
  const head = { taskId, seq, eventId: `evt_${uuidv7()}` };
  if (seq === 1) return { ...head, type: 'task.started', payload: '{"run_no":1}' };
  if (seq === events) return { ...head, type: 'task.succeeded', payload: '{"result":{"text":"done"}}', last: true };
  const type = seq % 2 === 0 ? 'tool.invoked' : 'tool.completed';
  return { ...head, type, payload: `{"tool_call_id":"call-${seq}","tool_name":"bench"}` };
}

await createWorker(async ({ data: { id, events } }) => {
  let open = [];
  for (let seq = 1; seq <= events; seq += 1) {
    open.push(append(event(id, seq, events)));
    if (open.length < WINDOW) continue;
    await Promise.all(open);
    open = [];
  }
  await Promise.all(open);
});
process.send({ ready: true });
