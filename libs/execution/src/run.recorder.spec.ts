import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Appended, ArtifactBody, Claim, ResultBody } from '#lib/domain';
import { createClaim } from '../../../test/support/claims.js';
import { MemoryBlobStore } from '../../../test/support/memory-blob-store.js';
import { MemoryEventBus } from '../../../test/support/memory-event-bus.js';
import { MemoryEventLog } from '../../../test/support/memory-event-log.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { digestCall } from '#lib/platform';
import { EventWriter } from './event.writer.js';
import { RunRecorder } from './run.recorder.js';
import type { WriteOutcome } from './write-queue.js';

let log: MemoryEventLog;
let blobs: MemoryBlobStore;
let writer: EventWriter;
let stored: Appended[];
let failed: WriteOutcome[];
let endings: string[];

beforeEach(() => {
  log = new MemoryEventLog();
  blobs = new MemoryBlobStore();
  writer = new EventWriter({ log, bus: new MemoryEventBus(), logger: new SilentLogger() }, { retryForMs: 0 });
  stored = [];
  failed = [];
  endings = [];
});

function record(change: Partial<Claim> = {}): { claim: Claim; recorder: RunRecorder; payloads: () => unknown[] } {
  const claim = createClaim(change);
  log.claimed(claim.taskKey, claim.runNo);
  const recorder = new RunRecorder(
    claim,
    { writer, blobs },
    {
      stored: (appended) => stored.push(appended),
      ending: async () => void endings.push(claim.taskKey),
      failed: (outcome) => failed.push(outcome),
    },
  );
  const payloads = (): unknown[] => log.events(claim.taskKey).map(({ type, payload }) => [type, JSON.parse(payload)]);
  return { claim, recorder, payloads };
}

const result: ResultBody = { text: 'done', metadata: { model: 'local' } };
const step = (step_id: string) => ({ type: 'step.started', payload: { step_id, step_name: 'Look' } });
const UUID = /^[a-z]+_[0-9a-f]{32}$/;

describe('a run that ends well', () => {
  it('stores its answer as the final message and its end in one append', async () => {
    const { claim, recorder, payloads } = record();
    await expect(recorder.succeed({ result })).resolves.toMatchObject({ kind: 'stored' });
    expect(log.batches).toHaveLength(1);
    expect(payloads()).toEqual([
      ['message.completed', { message_id: expect.stringMatching(UUID), role: 'assistant', text: 'done', final: true }],
      ['task.succeeded', { result }],
    ]);
    expect(log.events(claim.taskKey)[0]?.payload).toMatch(/,"final":true}$/);
  });

  it('adds the start of the message at full detail, unless the runner streamed it', async () => {
    const unstreamed = record({ detail: 'full' });
    await unstreamed.recorder.succeed({ result });
    expect(log.types(unstreamed.claim.taskKey)).toEqual(['message.started', 'message.completed', 'task.succeeded']);

    const streamed = record({ detail: 'full' });
    void streamed.recorder.event({ type: 'message.started', payload: { message_id: 'm1', role: 'assistant' } });
    void streamed.recorder.event({ type: 'message.delta', payload: { message_id: 'm1', text: 'done' } });
    await streamed.recorder.succeed({ result, messageId: 'm1', usage: { input_tokens: 1, output_tokens: 2 } });
    expect(log.types(streamed.claim.taskKey)).toEqual([
      'message.started',
      'message.delta',
      'message.completed',
      'task.succeeded',
    ]);
  });

  it('moves a result over 8 KiB to an artifact and keeps a preview', async () => {
    const { recorder, payloads, claim } = record();
    const long = { text: 'x'.repeat(20_000), data: { a: 1 }, metadata: { model: 'local' } };
    await recorder.succeed({ result: long });
    expect(log.types(claim.taskKey)).toEqual(['artifact.created', 'message.completed', 'task.succeeded']);
    const [, , [, ended]] = payloads() as [string, { result: ResultBody }][] as never as [never, never, [string, { result: ResultBody & { metadata: { artifact: { sha256: string } } } }]]; // prettier-ignore
    expect(ended.result.text).toHaveLength(1_024);
    const blob = blobs.blobs.get(`acme/${ended.result.metadata.artifact.sha256}`);
    expect(JSON.parse(blob!.toString())).toEqual(long);
  });

  it('is refused while a step is open', async () => {
    const { recorder } = record();
    void recorder.event(step('s1'));
    await expect(recorder.succeed({ result })).rejects.toThrow('step s1 still open');
  });
});

describe('events of a run', () => {
  it('are dropped below the detail of the task, checked all the same', () => {
    const { recorder } = record();
    expect(recorder.event({ type: 'message.delta', payload: { message_id: 'm', text: 'x' } })).toBeUndefined();
    expect(() => recorder.event({ type: 'message.delta', payload: { message_id: 'm' } })).toThrow('text');
  });

  it('may not contradict the steps of earlier runs', () => {
    const earlier = (stepId: string, state: 'completed' | 'failed') =>
      ({ stepId, name: stepId, state, attempt: 1, error: null, startedAtMs: 1, finishedAtMs: 2 }) as const;
    const { recorder } = record({ runNo: 2, steps: [earlier('done', 'completed'), earlier('lost', 'failed')] });
    expect(() => recorder.event(step('done'))).toThrow('cannot follow');
    expect(() => recorder.event(step('lost'))).toThrow('cannot follow');
    expect(recorder.event({ type: 'step.retrying', payload: { step_id: 'lost', attempt: 2 } })).toBeUndefined();
  });

  it('go with the checkpoint after them in one append', async () => {
    const { claim, recorder } = record();
    void recorder.event(step('s1'));
    void recorder.checkpoint({ at: 1 });
    void recorder.checkpoint({ at: 2 });
    await recorder.handOn({ runNo: 2, reason: 'handover', delayMs: 0 });
    const shapes = log.batches.map(([append]) => [append!.events.length, append!.checkpoint, append!.dispatch?.runNo]);
    expect(shapes).toEqual([
      [1, '{"at":2}', undefined],
      [0, undefined, 2],
    ]);
    expect(log.tasks.get(claim.taskKey)).toMatchObject({ checkpoint: '{"at":2}', runOpen: false, state: 'running' });
    expect(stored.filter(({ taskKey }) => taskKey === claim.taskKey)).toHaveLength(1);
  });

  it.each([
    ['be handed on', (recorder: RunRecorder) => recorder.handOn({ runNo: 2, reason: 'error', delayMs: 9_000 })],
    ['pause', (recorder: RunRecorder) => recorder.pause([{ tool_call_id: 'q', kind: 'question' }], 1_000)],
  ] as const)(
    'are kept, and the task is cancelled, where a cancel was asked just before it would %s',
    async (_, goOn) => {
      const { claim, recorder } = record();
      void recorder.event(step('s1'));
      await until(() => log.types(claim.taskKey).length === 1);
      log.tasks.get(claim.taskKey)!.cancelAtMs = 999;
      await expect(goOn(recorder)).resolves.toMatchObject({ kind: 'stored' });
      expect(log.types(claim.taskKey)).toEqual(['step.started', 'task.cancelled']);
      expect(log.tasks.get(claim.taskKey)).toMatchObject({ state: 'cancelled', runOpen: false });
    },
  );

  it('that is not ours any more are refused, and so is its end', async () => {
    const { claim, recorder } = record();
    log.tasks.get(claim.taskKey)!.runNo = 2;
    await expect(recorder.handOn({ runNo: 2, reason: 'error', delayMs: 0 })).resolves.toEqual({ kind: 'fenced' });
    expect(log.types(claim.taskKey)).toEqual([]);
  });

  it('hold back a runner that is faster than the log', async () => {
    let open: () => void = () => undefined;
    log.gate = new Promise((resolve) => (open = resolve));
    const { recorder } = record();
    let held: Promise<void> | undefined;
    for (let index = 0; index <= 1_000; index += 1) held = recorder.event(step(`s${index}`));
    expect(held).toBeInstanceOf(Promise);
    open();
    await expect(held).resolves.toBeUndefined();
  });

  it('that are too large are moved to an artifact, by reference', async () => {
    const { recorder, payloads } = record();
    const output = { rows: 'é'.repeat(20_000) };
    await recorder.event({ type: 'tool.completed', payload: { tool_call_id: 'c', tool_name: 't', output } });
    await recorder.handOn({ runNo: 2, reason: 'handover', delayMs: 0 });
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    const size = Buffer.byteLength(JSON.stringify(output));
    const artifact = expect.objectContaining({
      kind: 'offload',
      name: 'output.json',
      size,
      sha256,
      origin: 'scripted',
    });
    const reference = { artifact_id: expect.stringMatching(UUID), size, sha256, preview: expect.any(String) };
    expect(payloads()).toEqual([
      ['artifact.created', { artifact }],
      ['tool.completed', { tool_call_id: 'c', tool_name: 't', output: reference, artifact }],
    ]);
  });

  it('are split when a delta is too large', async () => {
    const { recorder, payloads } = record({ detail: 'full' });
    const text = '😀'.repeat(5_000);
    await recorder.event({ type: 'message.delta', payload: { message_id: 'm', text } });
    await recorder.handOn({ runNo: 2, reason: 'handover', delayMs: 0 });
    const pieces = (payloads() as [string, { text: string }][]).map(([, payload]) => payload.text);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(text);
  });

  it('that are too large with nothing to move are refused', async () => {
    const { recorder } = record();
    const error = { code: 'x', message: 'y'.repeat(20_000) };
    const event = { type: 'tool.failed', payload: { tool_call_id: 'c', tool_name: 't', error } };
    await expect(recorder.event(event)).rejects.toThrow('is over 15872 bytes');
  });
});

describe('a tool call', () => {
  it('may go out once its invocation is stored', async () => {
    const { claim, recorder } = record();
    const isStored = recorder.isAnnounced('c1');
    void recorder.event({ type: 'tool.invoked', payload: { tool_call_id: 'c1', tool_name: 't', arguments: {} } });
    await expect(isStored).resolves.toBe(true);
    expect(log.types(claim.taskKey)).toEqual(['tool.invoked']);
  });

  it('may go out only once the checkpoint that knows of it is stored too', async () => {
    const { claim, recorder } = record();
    void recorder.event({ type: 'tool.invoked', payload: { tool_call_id: 'c1', tool_name: 't' } });
    await until(() => log.types(claim.taskKey).length === 1);
    let open: () => void = () => undefined;
    log.gate = new Promise((resolve) => (open = resolve));
    void recorder.checkpoint({ called: 'c1' });
    let isAnnounced = false;
    const announced = recorder.isAnnounced('c1').then((answer) => (isAnnounced = answer));
    await new Promise(setImmediate);
    expect(isAnnounced).toBe(false);
    open();
    await announced;
    expect(isAnnounced).toBe(true);
    expect(log.tasks.get(claim.taskKey)).toMatchObject({ checkpoint: '{"called":"c1"}' });
  });

  it('may not go out when the run was fenced off', async () => {
    const { claim, recorder } = record();
    log.tasks.get(claim.taskKey)!.runOpen = false;
    void recorder.event({ type: 'tool.invoked', payload: { tool_call_id: 'c1', tool_name: 't', arguments: {} } });
    await expect(recorder.isAnnounced('c1')).resolves.toBe(false);
    expect(failed).toEqual([{ kind: 'fenced' }]);
  });
});

describe('a pause', () => {
  it('stores what it waits for, with a digest of each call, beside the checkpoint', async () => {
    const { claim, recorder, payloads } = record();
    void recorder.checkpoint({ conversation: [] });
    const call = { tool_call_id: 'c1', kind: 'tool_confirmation', tool_name: 'send', arguments: { to: 'x' } } as const;
    await recorder.pause([call], Date.parse('2026-01-01T00:00:00.000Z'));
    const confirmation = { ...call, digest: digestCall('send', { to: 'x' }), expires_at: '2026-01-02T00:00:00.000Z' };
    const wait_id = expect.stringMatching(UUID);
    expect(payloads()).toEqual([
      ['agent.request_confirmation', { wait_id, confirmations: [confirmation] }],
      ['task.waiting_for_input', { wait_id, confirmations: [confirmation], expires_at: '2026-01-02T00:00:00.000Z' }],
    ]);
    expect(log.tasks.get(claim.taskKey)).toMatchObject({ state: 'waiting_for_input', runOpen: false });
    expect(digestCall('send', { to: 'y' })).not.toBe(confirmation.digest);
  });

  it('moves arguments that are too long for an event to artifacts, and shows their beginning and their own digest', async () => {
    const { claim, recorder, payloads } = record();
    const long = { page: '<p>很长</p>'.repeat(3_000) };
    const ask = (id: string, args: object) =>
      ({ tool_call_id: id, kind: 'tool_confirmation', tool_name: 'send', arguments: args }) as const;
    await recorder.pause([ask('c1', long), ask('c2', { to: 'x' }), ask('c3', long)], 0);
    expect(log.types(claim.taskKey)).toEqual([
      'artifact.created',
      'agent.request_confirmation',
      'task.waiting_for_input',
    ]);
    const [created, asked] = payloads().map((event) => (event as [string, Record<string, Record<string, unknown>>])[1]);
    const { artifact_id, size, sha256 } = created!['artifact']!;
    const reference = { artifact_id, size, sha256, preview: JSON.stringify(long).slice(0, 1_000) };
    expect(asked!['confirmations']).toMatchObject([
      { tool_call_id: 'c1', arguments: reference, digest: digestCall('send', long) },
      { tool_call_id: 'c2', arguments: { to: 'x' } },
      { tool_call_id: 'c3', arguments: reference, digest: digestCall('send', long) },
    ]);
    expect(JSON.parse(blobs.blobs.get(`acme/${String(sha256)}`)!.toString())).toEqual(long);
  });

  it('that asks too much at once is refused', async () => {
    const { recorder } = record();
    const many = Array.from({ length: 100 }, (_, at) => ({ tool_call_id: `c${at}`, kind: 'client_tool' }) as const);
    await expect(recorder.pause(many, 0)).rejects.toThrow('over 15872 bytes');
  });
});

describe('artifacts of a run', () => {
  const file = (name: string, text: string, stepId?: string) => ({
    kind: 'produced' as const,
    name,
    mediaType: 'text/plain',
    ...(stepId === undefined ? {} : { stepId }),
    content: (async function* () {
      yield Buffer.from(text);
    })(),
  });

  it('that an earlier run has kept, or this one, are not kept twice', async () => {
    const first = record();
    await first.recorder.artifact(file('a.txt', 'one'));
    await first.recorder.artifact(file('a.txt', 'one'));
    await first.recorder.artifact(file('a.txt', 'two'));
    await first.recorder.artifact(file('a.txt', 'two', 's1'));
    await first.recorder.succeed({ result });
    const made = first.payloads().filter((event) => (event as [string])[0] === 'artifact.created');
    expect(made).toHaveLength(3);

    const artifacts = made.map((event) => (event as [string, { artifact: ArtifactBody }])[1].artifact);
    const second = record({ runNo: 2, artifacts });
    await second.recorder.artifact(file('a.txt', 'one'));
    await second.recorder.artifact(file('a.txt', 'two', 's1'));
    await second.recorder.artifact(file('b.txt', 'one'));
    await second.recorder.succeed({ result });
    expect(log.types(second.claim.taskKey)).toEqual(['artifact.created', 'message.completed', 'task.succeeded']);
  });

  it('name the output of a tool call where it is completed, though the runner does not know', async () => {
    const { recorder, payloads } = record();
    async function* output(): AsyncIterable<string> {
      for (let i = 0; i < 100; i += 1) yield 'x'.repeat(1_000);
    }
    const call = { tool_call_id: 'c1', tool_name: 'fetch' };
    void recorder.event({ type: 'tool.invoked', payload: call });
    const value = (await recorder.output('c1', output())) as { artifact_id: string; size: number; preview: string };
    expect(value).toMatchObject({ size: 100_000, preview: 'x'.repeat(1_024) });
    void recorder.event({ type: 'tool.completed', payload: { ...call, output: value } });
    void recorder.event({ type: 'tool.completed', payload: { ...call, tool_call_id: 'c2', output: 'small' } });
    await recorder.succeed({ result });
    const [, created, completed, other] = payloads() as [string, { artifact: ArtifactBody }][];
    const artifact = created![1].artifact;
    expect(artifact).toMatchObject({ artifact_id: value.artifact_id, kind: 'offload', size: 100_000 });
    expect(completed).toEqual(['tool.completed', { ...call, output: value, artifact }]);
    expect(other).toEqual(['tool.completed', { ...call, tool_call_id: 'c2', output: 'small' }]);
  });
});
