import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { CallRequest, Claim, RunPolicy, StoredEvent, TaskKey } from '#lib/domain';
import { Database, PgEventLog, PgRunCalls, PgRunStore, PgTaskStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { atFullSize } from '../../../test/support/full-size.js';
import { MemoryBlobStore } from '../../../test/support/memory-blob-store.js';
import { MemoryEventBus } from '../../../test/support/memory-event-bus.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../test/support/submissions.js';
import { CallRecorder } from './call.recorder.js';
import { EventWriter } from './event.writer.js';
import { RunRecorder } from './run.recorder.js';

const CALL = { toolCallId: 'c1', toolName: 'summarise' };
const ROUNDS = atFullSize(400, 40);

let test: TestDatabase;
let database: Database;
let log: PgEventLog;
let runs: PgRunStore;
let calls: PgRunCalls;
let backend: string;
let closing: (() => Promise<void>)[];

beforeEach(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 6, name: 'test' });
  closing = [() => database.close()];
  log = new PgEventLog(database, database);
  runs = new PgRunStore(database);
  calls = new PgRunCalls(database);
  backend = await createBackend(test.url);
});

afterEach(async () => {
  for (const close of closing.reverse()) await close();
  await test.drop();
});

/** A process with a connection of its own to write on. */
function process(): { writer: EventWriter; blobs: MemoryBlobStore } {
  const own = new Database({ databaseUrl: test.url, max: 1, name: 'writer' });
  const writer = new EventWriter({
    log: new PgEventLog(own, database),
    bus: new MemoryEventBus(),
    logger: new SilentLogger(),
  });
  closing.push(
    () => own.close(),
    () => writer.close(),
  );
  return { writer, blobs: new MemoryBlobStore() };
}

async function claimed(taskKey: TaskKey, { runNo = 1, leaseMs = 30_000 } = {}): Promise<Claim> {
  const job = { taskKey, runNo, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  const [claim] = await runs.claim([{ job, eventId: newEventId() }], { id: 'rt', leaseMs });
  return claim!;
}

async function running(options: { leaseMs?: number; policy?: Partial<RunPolicy> } = {}): Promise<Claim> {
  const submission = createSubmission(options.policy ? await createBackend(test.url, options.policy) : backend);
  await new PgTaskStore(database).submit(submission);
  return claimed(submission.taskKey, options);
}

const requestOf = ({ taskKey, runNo }: Claim, change: Partial<CallRequest> = {}): CallRequest => ({
  ...{ taskKey, runNo, ...CALL, digest: 'd', owner: randomUUID(), holdMs: 60_000, most: 10 },
  ...change,
});

const recorderOf = (claim: Claim, request: CallRequest, ports = process()): CallRecorder =>
  new CallRecorder({ ...claim, ...request }, ports);

const eventsOf = (taskKey: TaskKey): Promise<readonly StoredEvent[]> =>
  log.page(taskKey, 0, { maxEvents: 500, maxBytes: 10_000_000 });
const typesOf = async (taskKey: TaskKey): Promise<string[]> => (await eventsOf(taskKey)).map(({ type }) => type);

// How a call is told to its recorder, in one place.
const announce = (recorder: CallRecorder, args: unknown) => recorder.announced({ arguments: args }, []);
const complete = (recorder: CallRecorder, output: unknown) => recorder.completed(output, { durationMs: 1, audit: [] });
const fail = (recorder: CallRecorder) => recorder.failed({ code: 'failed', message: 'late' });
const deny = (recorder: CallRecorder) => recorder.denied({ reason: 'late' }, []);

const listener = { stored: () => undefined, failed: () => undefined, ending: () => Promise.resolve() };

describe('a call that is made from outside', () => {
  it('is one caller’s until it is answered, and answers the same from then on', async () => {
    const claim = await running();
    const request = requestOf(claim);
    expect(await calls.reserve(request)).toEqual({ kind: 'taken', wasAnnounced: false });
    expect(await calls.reserve(requestOf(claim))).toEqual({ kind: 'busy' });
    expect(await calls.reserve(requestOf(claim, { digest: 'e' }))).toEqual({ kind: 'conflict' });
    const recorder = recorderOf(claim, request);
    expect((await announce(recorder, { text: 'x' })).kind).toBe('stored');
    const { answer } = await complete(recorder, { summary: 'x' });
    expect(await calls.reserve(requestOf(claim))).toEqual({ kind: 'answered', answer: JSON.stringify(answer) });
    expect(await typesOf(claim.taskKey)).toEqual(['task.created', 'task.started', 'tool.invoked', 'tool.completed']);
  });

  it('goes to the next who asks when its maker is gone, who is told whether it may have been made', async () => {
    const claim = await running();
    const lost = requestOf(claim, { holdMs: 0 });
    await calls.reserve(lost);
    expect(await calls.reserve(requestOf(claim, { holdMs: 0 }))).toEqual({ kind: 'taken', wasAnnounced: false });
    const announced = requestOf(claim, { holdMs: 0 });
    await calls.reserve(announced);
    await announce(recorderOf(claim, announced), {});
    const next = requestOf(claim);
    expect(await calls.reserve(next)).toEqual({ kind: 'taken', wasAnnounced: true });
    // What the one before still says of the call is no answer of the call.
    await fail(recorderOf(claim, announced));
    expect(await calls.reserve(requestOf(claim))).toEqual({ kind: 'busy' });
  });

  it('is free again when it was not let out', async () => {
    const claim = await running();
    const request = requestOf(claim);
    await calls.reserve(request);
    await calls.release(request);
    expect(await calls.reserve(requestOf(claim, { digest: 'e' }))).toEqual({ kind: 'taken', wasAnnounced: false });
  });

  it('is one of as many as the run may make', async () => {
    const claim = await running();
    await calls.reserve(requestOf(claim, { toolCallId: 'c1', most: 2 }));
    await calls.reserve(requestOf(claim, { toolCallId: 'c2', most: 2 }));
    expect(await calls.reserve(requestOf(claim, { toolCallId: 'c3', most: 2 }))).toEqual({ kind: 'exhausted' });
    expect(await calls.reserve(requestOf(claim, { toolCallId: 'c2', most: 2 }))).toEqual({ kind: 'busy' });
  });

  it('keeps large arguments and output as artifacts', async () => {
    const claim = await running();
    const request = requestOf(claim);
    await calls.reserve(request);
    const recorder = recorderOf(claim, request);
    await announce(recorder, { text: 'x'.repeat(20_000) });
    const { answer, outcome } = await complete(recorder, { words: 'y '.repeat(50_000) });
    expect({ answer, kind: outcome.kind }).toMatchObject({
      answer: { status: 'completed', output: { artifact_id: expect.any(String), preview: expect.any(String) } },
      kind: 'stored',
    });
    expect((await typesOf(claim.taskKey)).slice(2)).toEqual([
      ...['artifact.created', 'tool.invoked', 'artifact.created', 'tool.completed'],
    ]);
  });

  it('says that a task which counted as stalled goes on', async () => {
    const claim = await running();
    const ports = process();
    const stalled = { type: 'task.stalled', payload: { reason: 'no_progress' } } as const;
    const draft = { eventId: newEventId(), body: stalled, json: JSON.stringify(stalled.payload) };
    await log.append([{ taskKey: claim.taskKey, guard: { kind: 'control', from: ['running'] }, events: [draft] }]);
    const request = requestOf(claim);
    await calls.reserve(request);
    await announce(recorderOf(claim, request, ports), {});
    await ports.writer.close();
    expect((await typesOf(claim.taskKey)).slice(-2)).toEqual(['tool.invoked', 'task.recovered']);
  });

  const ends: Record<string, (claim: Claim) => Promise<unknown>> = {
    'has ended': (claim) => recorderFor(claim).fail({ code: 'internal', message: 'x' }),
    waits: (claim) => recorderFor(claim).pause([{ tool_call_id: 'q', kind: 'question', prompt: '?' }], Date.now()),
    'was handed on': (claim) => recorderFor(claim).handOn({ runNo: 2, reason: 'handover', delayMs: 0 }),
    'is followed by another': async (claim) => {
      await recorderFor(claim).handOn({ runNo: 2, reason: 'handover', delayMs: 0 });
      await claimed(claim.taskKey, { runNo: 2 });
    },
  };
  const recorderFor = (claim: Claim): RunRecorder => new RunRecorder(claim, process(), listener);

  it.each(Object.entries(ends))('is neither begun nor written down once its run %s', async (_what, end) => {
    const claim = await running();
    const request = requestOf(claim);
    await calls.reserve(request);
    const recorder = recorderOf(claim, request);
    await end(claim);
    const before = await typesOf(claim.taskKey);
    expect(await calls.reserve(requestOf(claim, { toolCallId: 'c2' }))).toEqual({ kind: 'over' });
    expect((await announce(recorder, {})).kind).toBe('fenced');
    expect((await complete(recorder, 'late')).outcome.kind).toBe('fenced');
    expect((await deny(recorder)).kind).toBe('fenced');
    expect(await typesOf(claim.taskKey)).toEqual(before);
  });

  it('is not begun once its runtime gives no sign of life, nor once a cancel was asked', async () => {
    const silent = await running({ leaseMs: 0 });
    expect(await calls.standing(silent.taskKey)).toMatchObject({ runOpen: true, isLeased: false });
    expect(await calls.reserve(requestOf(silent))).toEqual({ kind: 'over' });
    expect((await announce(recorderOf(silent, requestOf(silent)), {})).kind).toBe('fenced');
    const asked = await running();
    const cancel = { type: 'task.cancel_requested', payload: { requested_by: 'alice' } } as const;
    const draft = { eventId: newEventId(), body: cancel, json: JSON.stringify(cancel.payload) };
    const request = requestOf(asked);
    await calls.reserve(request);
    await log.append([{ taskKey: asked.taskKey, guard: { kind: 'control', from: ['running'] }, events: [draft] }]);
    expect(await calls.reserve(requestOf(asked, { toolCallId: 'c2' }))).toEqual({ kind: 'over' });
    expect((await announce(recorderOf(asked, request), {})).kind).toBe('fenced');
    expect((await complete(recorderOf(asked, request), 'made before')).outcome.kind).toBe('stored');
  });

  it('never gets between a run and its own log, whoever writes when: seqs are dense, and nothing follows the end', async () => {
    const gateways = [process(), process()];
    const runtime = process();

    /** Calls, one after the other, until the run is over; the number of those that went out. */
    async function outside(claim: Claim, place: number): Promise<number> {
      for (let n = 0; ; n += 1) {
        const request = requestOf(claim, { toolCallId: `g${place}-${n}`, most: 1_000 });
        const reservation = await calls.reserve(request);
        if (reservation.kind !== 'taken') return n;
        const recorder = recorderOf(claim, request, gateways[place]);
        if ((await announce(recorder, {})).kind !== 'stored') return n;
        await complete(recorder, n);
      }
    }

    async function round(n: number): Promise<void> {
      const claim = await running();
      const failures: unknown[] = [];
      const recorder = new RunRecorder(claim, runtime, { ...listener, failed: (outcome) => failures.push(outcome) });
      const callers = gateways.map((_, place) => outside(claim, place));
      for (let k = 0; k < 20; k += 1) {
        void recorder.event({ type: 'step.started', payload: { step_id: `s${k}`, step_name: 'Step' } });
        void recorder.event({ type: 'step.completed', payload: { step_id: `s${k}` } });
        await new Promise((resolve) => setImmediate(resolve));
      }
      const next = { runNo: 2, reason: 'handover', delayMs: 0 } as const;
      const outcome =
        n % 2 === 0 ? await recorder.succeed({ result: { text: 'done', metadata: {} } }) : await recorder.handOn(next);
      expect({ kind: outcome.kind, failures }).toEqual({ kind: 'stored', failures: [] });
      const made = (await Promise.all(callers)).reduce((sum, count) => sum + count, 0);
      const events = await eventsOf(claim.taskKey);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(events.filter(({ type }) => type === 'tool.invoked')).toHaveLength(made);
      // A hand-over writes no event of its own: where it stood in the log is where the log still ends.
      const handedOnAt = outcome.kind === 'stored' ? outcome.appended.baseSeq : -1;
      expect(events).toHaveLength(
        n % 2 === 0 ? events.findIndex(({ type }) => type === 'task.succeeded') + 1 : handedOnAt,
      );
    }

    for (let n = 0; n < ROUNDS; n += 4) await Promise.all([0, 1, 2, 3].map((k) => round(n + k)));
  });
});
