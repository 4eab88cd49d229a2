import { describe, expect, it } from '@jest/globals';
import type { EventBody } from '#lib/domain';
import { encodeStep, StepBook } from './steps.js';
import { decodeCursor, encodeStepFrame } from './step-stream.js';

const CREATED: EventBody = {
  type: 'task.created',
  payload: {
    agent_id: 'a',
    backend: { runner: 'r', version: 'v' },
    detail: 'status',
    priority: 5,
    deadline_at: '2026-01-01T00:00:00.000Z',
    created_by: 'ann',
  },
};
const STARTED: EventBody = { type: 'task.started', payload: { run_no: 1, runtime_id: 'r' } };
const begin: EventBody = { type: 'step.started', payload: { step_id: 'p', step_name: 'Plan' } };
const done: EventBody = { type: 'step.completed', payload: { step_id: 'p' } };
const failed: EventBody = { type: 'step.failed', payload: { step_id: 'p', error: { code: 'x', message: 'no' } } };
const again: EventBody = { type: 'step.retrying', payload: { step_id: 'p', attempt: 2 } };
const lost: EventBody = { type: 'task.retrying', payload: { run_no: 2, runtime_id: 'r', reason: 'lost' } };
const succeeded: EventBody = { type: 'task.succeeded', payload: { result: { text: 'it', metadata: {} } } };
const QUESTION = { tool_call_id: 'q', kind: 'question', prompt: 'Which?', digest: 'd', expires_at: 'e' } as const;
const waiting: EventBody = {
  type: 'task.waiting_for_input',
  payload: { wait_id: 'w', confirmations: [QUESTION], expires_at: 'e' },
};
const resumed: EventBody = {
  type: 'task.resumed',
  payload: { wait_id: 'w', decided_by: 'bob', decisions: [{ tool_call_id: 'q', input: 'this' }] },
};
const cancelled: EventBody = { type: 'task.cancelled', payload: { forced: false } };

/** A book of these events, behind the creation and the first start, and the frames they make. */
function bookOf(...events: readonly EventBody[]): { book: StepBook; frames: string[] } {
  const book = new StepBook('t');
  const all = [CREATED, STARTED, ...events].map((event, index) => ({ ...event, seq: index + 1, timestamp: '' }));
  const frames = all.flatMap((event) => book.apply(event) ?? []).map(encodeStepFrame);
  return { book, frames };
}

const wordsOf = (book: StepBook): unknown =>
  book.list().map(({ step_id, status, is_last }) => [step_id, status, is_last]);

describe('the steps of a task', () => {
  it('are those of its run, named by where they began, and the task itself, last', () => {
    const { book } = bookOf(begin, done, succeeded);
    expect(wordsOf(book)).toEqual([
      ['step_3', 'completed', false],
      ['step_end', 'completed', true],
    ]);
    expect(book.end()?.output).toBe('it');
  });

  it('are handed out in the order in which they are over, and the end after them', () => {
    const other = (type: 'step.started' | 'step.completed'): EventBody =>
      ({ type, payload: { step_id: 'o', ...(type === 'step.started' ? { step_name: 'o' } : {}) } }) as EventBody;
    const { book } = bookOf(begin, other('step.started'), other('step.completed'), done, succeeded);
    const handed = [];
    for (let next = book.nextAfter(0); next; next = book.nextAfter(next.seq)) handed.push(next.step.step_id);
    expect(handed).toEqual(['step_4', 'step_3', 'step_end']);
  });

  it('are not handed out while they are under way, nor when they have failed and begun again', () => {
    expect(bookOf(begin).book.nextAfter(0)).toBeUndefined();
    expect(bookOf(begin, failed, again).book.nextAfter(0)).toBeUndefined();
    expect(bookOf(begin, failed, again, done).book.nextAfter(0)?.seq).toBe(6);
    expect(bookOf(begin).book.current()).toMatchObject({ name: 'Plan', status: 'running' });
  });

  it('that fail before the end are over in words the wire has, and say why', () => {
    const step = bookOf(begin, failed).book.find('step_3')!;
    expect(step).toMatchObject({ status: 'completed', is_last: false, output: 'no' });
    expect(step.additional_output).toEqual({ step_id: 'p', state: 'failed', error: { code: 'x', message: 'no' } });
  });

  it.each([
    ['a lost run', lost, { state: 'failed', error: { code: 'lost' } }],
    ['a cancel', cancelled, { state: 'cancelled' }],
  ])('that are open are closed by %s, without a frame of their own', (_, event, output) => {
    const { book, frames } = bookOf(begin, event);
    expect(book.find('step_3')).toMatchObject({ status: 'completed', additional_output: output });
    expect(frames).toHaveLength(event === lost ? 3 : 4);
  });

  it('wait for an answer as long as nobody gives one, and can be handed out meanwhile', () => {
    const { book } = bookOf(waiting);
    expect(book.openWait()).toMatchObject({ seq: 3, waitId: 'w', step: { status: 'running', output: 'Which?' } });
    expect(book.nextAfter(0)?.step.step_id).toBe('step_3');
    const answered = bookOf(waiting, resumed, STARTED).book;
    expect(answered.openWait()).toBeUndefined();
    expect(answered.find('step_3')).toMatchObject({ status: 'completed', input: 'this' });
  });

  it('wait for nobody once the task is over', () => {
    expect(bookOf(waiting, cancelled).book.openWait()).toBeUndefined();
    expect(bookOf(waiting, cancelled).book.find('step_3')).toMatchObject({ status: 'completed' });
  });
});

describe('frames', () => {
  it('are the same to the byte whenever they are made, each with an id of its own', () => {
    const events = [begin, done, waiting, resumed, STARTED, succeeded];
    const { frames } = bookOf(...events);
    expect(bookOf(...events).frames).toEqual(frames);
    expect(frames.map((frame) => /^id: (\d+)\n/.exec(frame)?.[1])).toEqual(['1', '2', '3', '4', '5', '6', '8']);
    expect(frames[2]).toBe(
      'id: 3\ndata: {"task_id":"t","step_id":"step_3","name":"Plan","status":"running","input":null,' +
        '"additional_input":{},"output":null,"additional_output":{"step_id":"p","state":"running"},"artifacts":[],"is_last":false}\n\n',
    );
  });

  it.each([
    [undefined, 0],
    ['3', 3],
    ['9', 9],
    ['10', 0],
    ['x', 0],
    ['-1', 0],
    ['1.5', 0],
    ['99999999999', 0],
  ])('go on behind %s at %s, of nine', (lastEventId, seq) => {
    expect(decodeCursor(lastEventId, 9)).toBe(seq);
  });

  it('say failed and cancelled, which the schema does not', () => {
    const end = bookOf(cancelled).book.end()!;
    expect([end.status, encodeStep(end).status]).toEqual(['cancelled', 'completed']);
  });
});
