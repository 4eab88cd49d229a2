import { describe, expect, it } from '@jest/globals';
import { encodeFrame, encodeFrames, type StoredEvent } from './envelope.js';
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
