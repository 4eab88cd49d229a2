import { beforeEach, describe, expect, it } from '@jest/globals';
import { type EventBody, type TaskId, type TaskKey, UnavailableError } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import { MemoryEventBus } from '../../../test/support/memory-event-bus.js';
import { MemoryEventLog } from '../../../test/support/memory-event-log.js';
import { RecordingMetrics } from '../../../test/support/recording-metrics.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { draftEvent } from './admission.js';
import { EventWriter } from './event.writer.js';
import { RunCursor, type Write, type WriteOutcome } from './write-queue.js';

let log: MemoryEventLog;
let bus: MemoryEventBus;
let writer: EventWriter;
let metrics: RecordingMetrics;

beforeEach(() => {
  log = new MemoryEventLog();
  bus = new MemoryEventBus();
  metrics = new RecordingMetrics();
  writer = new EventWriter(
    { log, bus, logger: new SilentLogger(), metrics },
    { retryForMs: 200, firstDelayMs: 1, maxDelayMs: 2 },
  );
});

interface Run {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly guard: RunCursor;
}

function claimed(): Run {
  const taskKey = newTaskKey();
  log.claimed(taskKey);
  return { taskKey, taskId: `t-${taskKey}` as TaskId, guard: new RunCursor(1) };
}

const started = (step_id: string): EventBody => ({ type: 'step.started', payload: { step_id, step_name: step_id } });
const delta = (message_id: string, text: string): EventBody => ({
  type: 'message.delta',
  payload: { message_id, text },
});

function append(run: Run, bodies: readonly EventBody[], more: Partial<Write> = {}): Promise<WriteOutcome> {
  return writer.append({ ...run, events: bodies.map(draftEvent), ...more });
}

describe('the writer', () => {
  it('puts what is emitted in one turn of the event loop in one statement, one append per task', async () => {
    const [one, two] = [claimed(), claimed()];
    const outcomes = await Promise.all([append(one, [started('a')]), append(two, [started('b')]), append(one, [started('c')])]); // prettier-ignore
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'stored']);
    expect(log.batches).toHaveLength(1);
    expect(log.batches[0]?.map(({ events }) => events.length)).toEqual([2, 1]);
    expect(one.guard.runPos).toBe(2);
  });

  it('keeps one statement in flight and sends what arrived meanwhile as the next', async () => {
    let open: () => void = () => undefined;
    log.gate = new Promise((resolve) => (open = resolve));
    const run = claimed();
    const first = append(run, [started('a')]);
    await new Promise(setImmediate);
    const rest = [append(run, [started('b')]), append(claimed(), [started('c')])];
    await new Promise(setImmediate);
    expect(log.batches).toHaveLength(1);
    open();
    await Promise.all([first, ...rest]);
    expect(log.batches.map((batch) => batch.length)).toEqual([1, 2]);
    expect(log.types(run.taskKey)).toEqual(['step.started', 'step.started']);
  });

  it('never splits events emitted together, holds a batch to 500 events and lets nobody starve', async () => {
    const [busy, calm] = [claimed(), claimed()];
    const many = (count: number): EventBody[] => Array.from({ length: count }, (_, index) => started(`s${index}`));
    const writes = [append(busy, many(300)), append(busy, many(300)), append(busy, many(300)), append(calm, many(200))];
    await Promise.all(writes);
    const sizes = log.batches.map((batch) => batch.map(({ events }) => events.length));
    expect(sizes).toEqual([[300, 200], [300], [300]]);
  });

  it('sends a write that alone is larger than a batch on its own', async () => {
    const bodies = Array.from({ length: 600 }, (_, index) => started(`s${index}`));
    await expect(append(claimed(), bodies)).resolves.toMatchObject({ kind: 'stored' });
    expect(log.batches.map((batch) => batch[0]?.events.length)).toEqual([600]);
  });

  it('joins waiting deltas of one message and no state event', async () => {
    const run = claimed();
    const parts = ['He said "', 'é', '\\o/', '\u2028'];
    const writes = parts.map((text) => append(run, [delta('m', text)]));
    writes.push(append(run, [delta('other', 'x')]), append(run, [started('a')]), append(run, [delta('m', 'y')]));
    await Promise.all(writes);
    const events = log.events(run.taskKey);
    expect(events.map(({ type }) => type)).toEqual(['message.delta', 'message.delta', 'step.started', 'message.delta']);
    expect(JSON.parse(events[0]!.payload)).toEqual({ message_id: 'm', text: parts.join('') });
    expect(run.guard.runPos).toBe(4);
  });

  it('does not join deltas past the bound of an event', async () => {
    const run = claimed();
    await Promise.all([append(run, [delta('m', 'x'.repeat(9_000))]), append(run, [delta('m', 'y'.repeat(9_000))])]);
    expect(log.types(run.taskKey)).toEqual(['message.delta', 'message.delta']);
  });

  it('publishes the frames of a flush in one call, after the commit', async () => {
    const [one, two] = [claimed(), claimed()];
    await Promise.all([append(one, [started('a')]), append(two, [started('b')])]);
    await writer.close();
    expect(bus.published).toHaveLength(1);
    const [news] = bus.published[0]!;
    const [stored] = log.events(one.taskKey);
    expect(news).toMatchObject({ taskKey: one.taskKey, fromSeq: 1, toSeq: 1 });
    expect(news?.frames?.[0]?.text).toBe(
      `id: 1\nevent: step.started\ndata: {"version":"1.0","event_id":"${stored!.eventId}","task_id":"${one.taskId}","seq":1,"event_type":"step.started","timestamp":"1970-01-01T00:00:01.000Z","payload":{"step_id":"a","step_name":"a"}}\n\n`,
    );
  });

  it('tells a run whose guard fails that it is fenced off, with all it had waiting, and stores the rest', async () => {
    const [live, dead] = [claimed(), claimed()];
    log.tasks.get(dead.taskKey)!.runNo = 2;
    const outcomes = await Promise.all([append(dead, [started('a')]), append(live, [started('b')])]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['fenced', 'stored']);
    expect(log.types(dead.taskKey)).toEqual([]);
  });

  it('lets only the offender fail when the database refuses a row', async () => {
    const [good, bad] = [claimed(), claimed()];
    log.refuses = ({ taskKey }) => taskKey === bad.taskKey;
    const outcomes = await Promise.all([append(good, [started('a')]), append(bad, [started('b')])]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'refused']);
    expect(bus.published.flat()).toHaveLength(1);
  });

  it('sends again after a lost connection when nothing was stored', async () => {
    log.faults.push({ error: new UnavailableError('gone') }, { error: new UnavailableError('gone') });
    const run = claimed();
    await expect(append(run, [started('a')])).resolves.toMatchObject({ kind: 'stored' });
    expect(log.types(run.taskKey)).toEqual(['step.started']);
  });

  it('does not send again what was committed before the connection died', async () => {
    log.faults.push({ error: new UnavailableError('gone'), afterCommit: true });
    const run = claimed();
    const outcome = await append(run, [started('a')]);
    expect(outcome).toMatchObject({ kind: 'stored', appended: { baseSeq: 0 } });
    await expect(append(run, [started('b')])).resolves.toMatchObject({ kind: 'stored' });
    expect(log.events(run.taskKey).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(bus.published.flat()).toHaveLength(2);
  });

  it('gives up when the database stays away, and takes nothing more once closed', async () => {
    log.faults.push(...Array.from({ length: 500 }, () => ({ error: new UnavailableError('gone') })));
    const run = claimed();
    await expect(append(run, [started('a')])).resolves.toMatchObject({ kind: 'unavailable' });
    await writer.close();
    await expect(append(run, [started('b')])).resolves.toMatchObject({ kind: 'unavailable' });
  });

  it('keeps control writes of one task apart, in order', async () => {
    const run = claimed();
    const control = (body: EventBody): Promise<WriteOutcome> =>
      writer.append({
        taskKey: run.taskKey,
        taskId: run.taskId,
        guard: { kind: 'control', from: ['running'] },
        events: [draftEvent(body)],
      });
    const outcomes = await Promise.all([
      control({ type: 'task.cancel_requested', payload: { requested_by: 'me' } }),
      control({ type: 'task.cancelled', payload: { forced: false } }),
      append(run, [started('late')]),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'fenced']);
    expect(log.batches).toHaveLength(3);
  });

  it('counts what became of each batch: events, ends, stalls, and what was refused', async () => {
    const [done, failed, stuck, late] = [claimed(), claimed(), claimed(), claimed()];
    log.tasks.get(late.taskKey)!.runNo = 2;
    const control = { guard: { kind: 'control', from: ['running'] } } as const;
    const error = { code: 'poison', message: 'x' };
    await Promise.all([
      append(done, [started('a'), { type: 'task.cancelled', payload: { forced: true } }]),
      append(failed, [{ type: 'task.failed', payload: { error } }], control),
      append(stuck, [{ type: 'task.stalled', payload: { reason: 'no_progress', waiting_on: 'worker' } }], control),
      append(late, [started('b')]),
    ]);
    await append(stuck, [{ type: 'task.recovered', payload: {} }], control);
    await append(stuck, [], { dispatch: { runNo: 2, reason: 'error', delayMs: 0 } });
    expect(metrics.counted).toEqual([
      ['switchyard_tasks_ended_total', { state: 'cancelled' }, 1],
      ['switchyard_cancels_forced_total', {}, 1],
      ['switchyard_tasks_ended_total', { state: 'failed' }, 1],
      ['switchyard_tasks_failed_total', { code: 'poison' }, 1],
      ['switchyard_tasks_stalled_total', { reason: 'no_worker' }, 1],
      ['switchyard_appends_fenced_total', { guard: 'run' }, 1],
      ['switchyard_events_stored_total', {}, 4],
      ['switchyard_tasks_recovered_total', {}, 1],
      ['switchyard_events_stored_total', {}, 1],
      ['switchyard_runs_retried_total', {}, 1],
    ]);
    const sizes = metrics.observed.filter(([name]) => name === 'switchyard_append_batch_events');
    expect(sizes.map(([, , value]) => value)).toEqual([4, 1, 0]);
    expect(metrics.observed.filter(([name]) => name === 'switchyard_append_seconds')).toHaveLength(3);
  });
});

describe('a task that is ended from outside', () => {
  const cancelled: EventBody = { type: 'task.cancelled', payload: { forced: false } };
  const asked: EventBody = { type: 'task.cancel_requested', payload: { requested_by: 'ann' } };
  const guard = { kind: 'control', from: ['running'] } as const;

  it('keeps what was saved of its workspace, as an archive, in the append that ends it', async () => {
    const [saved, unsaved, going] = [claimed(), claimed(), claimed()];
    const workspace = { sha256: 'a'.repeat(64), size: 10_240 };
    for (const { taskKey } of [saved, going]) log.tasks.get(taskKey)!.workspace = workspace;
    await Promise.all([
      append(saved, [asked, cancelled], { guard }),
      append(unsaved, [asked, cancelled], { guard }),
      append(going, [asked], { guard }),
    ]);
    expect(log.types(saved.taskKey)).toEqual(['task.cancel_requested', 'artifact.created', 'task.cancelled']);
    expect(JSON.parse(log.events(saved.taskKey)[1]!.payload)).toEqual({
      artifact: {
        artifact_id: expect.stringMatching(/^art_[0-9a-f]{32}$/),
        kind: 'log',
        name: 'workspace.tar',
        media_type: 'application/x-tar',
        ...workspace,
      },
    });
    expect(log.tasks.get(saved.taskKey)!.workspace).toBeUndefined();
    expect(log.types(unsaved.taskKey)).toEqual(['task.cancel_requested', 'task.cancelled']);
    expect([log.types(going.taskKey), log.tasks.get(going.taskKey)!.workspace]).toEqual([
      ['task.cancel_requested'],
      workspace,
    ]);
    expect(log.batches).toHaveLength(1);
  });

  it('ends all the same when its files cannot be asked for', async () => {
    const run = claimed();
    log.workspaces = () => Promise.reject(new UnavailableError('away'));
    await append(run, [cancelled], { guard });
    expect(log.types(run.taskKey)).toEqual(['task.cancelled']);
  });
});
