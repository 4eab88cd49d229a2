import { describe, expect, it } from '@jest/globals';
import {
  encodeEnvelope,
  encodeFrame,
  encodeFrames,
  ENVELOPE_MAX_BYTES,
  PAYLOAD_MAX_BYTES,
  type StoredEvent,
} from './envelope.js';
import { EVENTS, type EventType } from './event-table.js';
import type { EventId, TaskId } from './ids.js';

const taskId = 't-1' as TaskId;

function stored(seq: number, atMs: number): StoredEvent {
  return { seq, atMs, eventId: `evt_${seq}` as EventId, type: 'task.recovered', payload: '{}' };
}

describe('encodeFrames', () => {
  it('gives the bytes of each event alone, whether it shares its time with the one before or not', () => {
    const events = [stored(1, 1_700_000_000_000), stored(2, 1_700_000_000_000), stored(3, 1_700_000_000_001)];
    const frames = encodeFrames(taskId, events);
    expect(frames).toEqual(events.map((event) => encodeFrame(taskId, event)));
    expect(frames[2]).toEqual({
      seq: 3,
      type: 'task.recovered',
      text:
        'id: 3\nevent: task.recovered\ndata: {"version":"1.0","event_id":"evt_3","task_id":"t-1","seq":3,' +
        '"event_type":"task.recovered","timestamp":"2023-11-14T22:13:20.001Z","payload":{}}\n\n',
    });
  });
});

describe('an envelope', () => {
  it('stays within its bound with the longest payload, whatever its seq, type and task', () => {
    const types = Object.keys(EVENTS) as EventType[];
    const type = types.reduce((longest, each) => (each.length > longest.length ? each : longest));
    const payload = 'x'.repeat(PAYLOAD_MAX_BYTES);
    const event = {
      type,
      payload,
      seq: 2_147_483_647,
      atMs: 1_700_000_000_000,
      eventId: `evt_${'0'.repeat(32)}` as EventId,
    };
    expect(encodeEnvelope('t'.repeat(200) as TaskId, event).length).toBeLessThanOrEqual(ENVELOPE_MAX_BYTES);
  });
});
