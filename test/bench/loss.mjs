// M8: how long tasks stand still when the runtime that works on them is killed.
import { subscribe, VoidRound } from './client.mjs';
import { createGate } from './gate.mjs';
import { median } from './measure.mjs';
import { LEASE_MS } from './sides/product.mjs';

const TASKS = 32;
const VICTIM = 'bench-victim';

/** Follows a task to its end; `onStart(runtime is the victim)` and `onRetry()` come with the first events of its runs. */
function watch(side, taskId, { onStart, onRetry }) {
  return subscribe(side.events(taskId), 0, (_seq, frame) => {
    if (frame.includes('event: task.started')) onStart(frame.includes(`"${VICTIM}"`));
    if (frame.includes('event: task.retrying')) onRetry();
  });
}

async function runTasks(side, gate, victim) {
  const script = [{ checkpoint: 1 }, { run: 1, until_file: gate.file }, { result: 'done' }];
  const ids = await Promise.all(Array.from({ length: TASKS }, () => side.submit(script)));
  const times = [];
  let [started, lost, killedMs] = [0, 0, 0];
  const onStart = (isVictim) => {
    started += 1;
    if (isVictim) lost += 1;
    if (started < TASKS) return;
    killedMs = performance.now();
    process.kill(victim.pid, 'SIGKILL');
  };
  const onRetry = () => {
    times.push(performance.now() - killedMs);
    if (times.length === lost) gate.open();
  };
  const ended = Promise.all(ids.map((taskId) => watch(side, taskId, { onStart, onRetry })));
  // Nobody would open the gate of tasks that are all the other runtime's.
  victim.ended.catch(() => lost === 0 && gate.open());
  await ended;
  if (times.length === 0) throw new VoidRound('the runtime that was killed had no task');
  if (times.length !== lost) throw new VoidRound(`${times.length} tasks went on instead of ${lost}`);
  return times;
}

/** Median ms from the SIGKILL to the first event of the next run, beside the lease. */
export async function loss(side) {
  const gate = createGate();
  try {
    const victim = await side.addRuntime({ RUNTIME_ID: VICTIM });
    const times = await runTasks(side, gate, victim);
    return { 'product.loss': { ms: median(times), tasks: times.length }, 'lease.loss': { ms: LEASE_MS } };
  } finally {
    gate.remove();
  }
}
