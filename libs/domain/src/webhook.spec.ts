import { describe, expect, it } from '@jest/globals';
import {
  encodeNotice,
  encodeTestNotice,
  type EventId,
  type NoticeFacts,
  PAYLOAD_MAX_BYTES,
  type TaskId,
} from './index.js';

const FACTS: NoticeFacts = {
  eventId: 'evt_1' as EventId,
  type: 'task.failed',
  seq: 7,
  atMs: 2_000,
  payload: '{"error":{"code":"timeout","message":"Too late."},"phase":"observe"}',
  taskId: 't-1' as TaskId,
  agentId: 'a',
  taskType: null,
  sessionId: 's',
  state: 'failed',
  runNo: 2,
  createdBy: 'ann',
  createdAtMs: 1_000,
};

describe('the body of a message', () => {
  it('has the form of the task’s snapshot, as of the event', () => {
    expect(JSON.parse(encodeNotice(FACTS))).toEqual({
      type: 'task.failed',
      timestamp: '1970-01-01T00:00:02.000Z',
      data: {
        event_id: 'evt_1',
        task_id: 't-1',
        agent_id: 'a',
        type: null,
        session_id: 's',
        state: 'failed',
        status: 'error',
        run_no: 2,
        last_seq: 7,
        result: null,
        error: { code: 'timeout', message: 'Too late.' },
        phase: 'observe',
        usage: null,
        pending_confirms: [],
        wait_id: null,
        waiting_on: null,
        stalled: false,
        created_by: 'ann',
        created_at: '1970-01-01T00:00:01.000Z',
      },
    });
  });

  it('says of a task that waits what it waits for, and until when', () => {
    const payload = { wait_id: 'w', confirmations: [{ tool_call_id: 'c' }], expires_at: '2026-01-01T00:00:00.000Z' };
    const facts: NoticeFacts = {
      ...FACTS,
      type: 'task.waiting_for_input',
      state: 'waiting_for_input',
      payload: JSON.stringify(payload),
    };
    expect((JSON.parse(encodeNotice(facts)) as { data: object }).data).toMatchObject({
      state: 'waiting_for_input',
      wait_id: 'w',
      pending_confirms: [{ tool_call_id: 'c' }],
      expires_at: '2026-01-01T00:00:00.000Z',
      error: null,
    });
  });

  it('is never much longer than the event it tells of, and the same bytes each time', () => {
    const message = 'é'.repeat((PAYLOAD_MAX_BYTES - 100) / 2);
    const facts = { ...FACTS, payload: JSON.stringify({ error: { code: 'internal', message } }) };
    expect(Buffer.byteLength(encodeNotice(facts))).toBeLessThan(PAYLOAD_MAX_BYTES + 1_024);
    expect(encodeNotice(facts)).toBe(encodeNotice({ ...facts }));
  });

  it('of a test says which webhook it is of', () => {
    const body = { type: 'webhook.test', timestamp: '1970-01-01T00:00:00.000Z', data: { webhook_id: 'wh_1' } };
    expect(JSON.parse(encodeTestNotice('wh_1', 0))).toEqual(body);
  });
});
