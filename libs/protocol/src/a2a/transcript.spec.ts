import { Role, StreamResponse, Task, TaskState } from '@a2a-js/sdk';
import { describe, expect, it } from '@jest/globals';
import { type EventBody, type EventId, type LoggedEvent, type NoticeFacts, PUSH_EVENTS } from '#lib/domain';
import { encodeNotices } from './notice.js';
import { encodeUpdate03 } from './rest03.js';
import { TaskTranscript, TOLD_EVENTS } from './transcript.js';

const TERMS = {
  taskId: 't-1',
  contextId: 'c-1',
  urlOf: (id: string) => `https://here.example/${id}`,
  confirmationState: 'input-required' as const,
};

let seq = 0;

function event(body: EventBody): LoggedEvent {
  seq += 1;
  return { ...body, seq, eventId: `evt_${seq}` as EventId, timestamp: '2026-01-01T00:00:00.000Z' };
}

const asks = (kind: 'tool_confirmation' | 'authorization' | 'question'): EventBody => ({
  type: 'task.waiting_for_input',
  payload: {
    wait_id: 'w',
    confirmations: [
      { tool_call_id: 'c', kind, tool_name: 'look', digest: 'd', expires_at: '2026-01-02T00:00:00.000Z' },
    ],
    expires_at: '2026-01-02T00:00:00.000Z',
  },
});
const delta = (text: string): EventBody => ({ type: 'message.delta', payload: { message_id: 'm', text } });
const completed = (text: string, role = 'assistant'): EventBody => ({
  type: 'message.completed',
  payload: { message_id: 'm', role, text },
});

/** The text chunks an update holds, with how each joins the ones before. */
function chunksOf(updates: readonly StreamResponse[]): unknown[] {
  return updates.map(({ payload }) => {
    if (payload?.$case !== 'artifactUpdate') return payload?.$case;
    const [part] = payload.value.artifact!.parts;
    return [part?.content?.value, payload.value.append, payload.value.lastChunk];
  });
}

function stateAfter(
  body: EventBody,
  confirmationState: 'input-required' | 'auth-required' = 'input-required',
): TaskState {
  const transcript = new TaskTranscript({ ...TERMS, confirmationState });
  transcript.apply(event(body));
  return transcript.state;
}

describe('a transcript', () => {
  it('tells a message as it is written, and its end by what was missing', () => {
    const transcript = new TaskTranscript(TERMS);
    const updates = [delta('The '), delta('trams'), completed('The trams run.')].flatMap((body) =>
      transcript.apply(event(body)),
    );
    expect(chunksOf(updates)).toEqual([
      ['The ', false, false],
      ['trams', true, false],
      [' run.', true, true],
    ]);
    expect(transcript.task({ hasArtifacts: true }).artifacts).toMatchObject([
      { artifactId: 'reply-m', parts: [{ content: { value: 'The trams run.' } }] },
    ]);
  });

  it('tells a message anew that ends otherwise than it was written, and none of others', () => {
    const transcript = new TaskTranscript(TERMS);
    transcript.apply(event(delta('The trams')));
    expect(chunksOf(transcript.apply(event(completed('Nothing.'))))).toEqual([['Nothing.', false, true]]);
    expect(transcript.apply(event(completed('What I asked.', 'user')))).toEqual([]);
  });

  it('calls a wait by what is waited for', () => {
    expect(stateAfter(asks('question'), 'auth-required')).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(stateAfter(asks('tool_confirmation'))).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(stateAfter(asks('tool_confirmation'), 'auth-required')).toBe(TaskState.TASK_STATE_AUTH_REQUIRED);
    expect(stateAfter(asks('authorization'))).toBe(TaskState.TASK_STATE_AUTH_REQUIRED);
  });

  it('says that what was refused was rejected, and what went wrong failed', () => {
    const failed = (code: string): EventBody => ({ type: 'task.failed', payload: { error: { code, message: 'No.' } } });
    expect(stateAfter(failed('rejected'))).toBe(TaskState.TASK_STATE_REJECTED);
    expect(stateAfter(failed('timeout'))).toBe(TaskState.TASK_STATE_FAILED);
  });

  it('keeps questions and answers, each by the message it came by, newest last', () => {
    const transcript = new TaskTranscript(TERMS);
    const decisions = [{ tool_call_id: 'c', approved: true }];
    const answered = { wait_id: 'w', decided_by: 'ann', decisions };
    transcript.apply(event(asks('tool_confirmation')));
    transcript.apply(event({ type: 'task.resumed', payload: { ...answered, answer_key: 'a2a ["mine","digest"]' } }));
    transcript.apply(event(asks('question')));
    transcript.apply(event({ type: 'task.resumed', payload: answered }));
    const all = transcript.task({ hasArtifacts: false }).history.map(({ role, messageId }) => [Role[role], messageId]);
    expect(all).toEqual([
      ['ROLE_AGENT', `evt_${seq - 3}`],
      ['ROLE_USER', 'mine'],
      ['ROLE_AGENT', `evt_${seq - 1}`],
      ['ROLE_USER', `evt_${seq}`],
    ]);
    expect(transcript.task({ hasArtifacts: false, historyLength: 1 }).history).toHaveLength(1);
    expect(transcript.task({ hasArtifacts: false, historyLength: 0 }).history).toEqual([]);
  });

  it('has the file of a result that is longer than events, if it is one that was kept of the task', () => {
    const artifact = {
      ...{ artifact_id: 'art_1', kind: 'offload' as const },
      ...{ name: 'result.json', media_type: 'application/json', size: 20_000, sha256: 'a', origin: 'x' },
    };
    const result = { text: 'The beginning', metadata: { artifact } };
    const transcript = new TaskTranscript(TERMS);
    transcript.apply(event({ type: 'artifact.created', payload: { artifact } }));
    expect(transcript.task({ hasArtifacts: true }).artifacts).toEqual([]);
    transcript.apply(event({ type: 'task.succeeded', payload: { result } }));
    const [file] = transcript.task({ hasArtifacts: true }).artifacts;
    expect([file?.artifactId, file?.parts[0]?.content?.value]).toEqual(['art_1', 'https://here.example/art_1']);
    const deceived = new TaskTranscript(TERMS);
    deceived.apply(event({ type: 'task.succeeded', payload: { result } }));
    expect(deceived.task({ hasArtifacts: true }).artifacts).toEqual([]);
  });

  it('tells apart the updates of one event, and is whole on the wire', () => {
    const transcript = new TaskTranscript(TERMS);
    const result = { text: 'done', data: [1], metadata: { model: 'local' } };
    const updates = transcript.apply(event({ type: 'task.succeeded', payload: { result } }));
    const places = updates.map((update) => JSON.stringify(StreamResponse.toJSON(update)).match(/"number":(\d+)/)?.[1]);
    expect(places).toEqual([String(seq * 8), String(seq * 8 + 1)]);
    const task = transcript.task({ hasArtifacts: true });
    expect(Task.fromJSON(JSON.parse(JSON.stringify(Task.toJSON(task))))).toEqual(task);
    expect(encodeUpdate03(updates[1]!)).toMatchObject({ statusUpdate: { final: true } });
  });
});

describe('a notice', () => {
  const facts = (type: NoticeFacts['type'], payload: object, runNo = 1): NoticeFacts =>
    ({
      taskId: 't-1',
      sessionId: null,
      eventId: 'evt_1',
      seq: 3,
      atMs: 0,
      runNo,
      type,
      payload: JSON.stringify(payload),
    }) as unknown as NoticeFacts;

  it('tells a message whole, and the beginning of work once', () => {
    expect(chunksOf(encodeNotices(facts('message.completed', completed('said').payload), TERMS))).toEqual([
      ['said', false, true],
    ]);
    expect(encodeNotices(facts('task.started', { run_no: 1 }), TERMS)).toHaveLength(1);
    expect(encodeNotices(facts('task.started', { run_no: 2 }, 2), TERMS)).toEqual([]);
  });

  it('is of events that a task is read from', () => {
    expect(PUSH_EVENTS.filter((type) => !(TOLD_EVENTS as readonly string[]).includes(type))).toEqual([]);
  });
});
