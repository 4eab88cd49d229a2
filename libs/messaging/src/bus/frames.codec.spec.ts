import { describe, expect, it } from '@jest/globals';
import { encodeFrame, encodeHeartbeat, type EventId, type TaskId, type TaskKey, type TaskNews } from '#lib/domain';
import fc from 'fast-check';
import { decodeTaskMessage, encodeLive, encodeNews } from './frames.codec.js';

const TASK_KEY = '0199b5a0-7c1e-7000-8000-00000000002a' as TaskKey;
const TASK_ID = 'task-1' as TaskId;

function frame(seq: number, text: string): ReturnType<typeof encodeFrame> {
  const payload = JSON.stringify({ text });
  return encodeFrame(TASK_ID, { seq, eventId: 'evt_1' as EventId, type: 'message.delta', atMs: 0, payload });
}

describe('news on Redis', () => {
  it('come back with the very frames, whatever they say', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), (from, texts) => {
        const frames = texts.map((text, index) => frame(from + index, text));
        const news: TaskNews = { taskKey: TASK_KEY, fromSeq: from, toSeq: from + texts.length - 1, frames };
        expect(decodeTaskMessage(TASK_KEY, encodeNews(news))).toEqual(news);
      }),
    );
  });

  it('leave the frames out when there are none or too many', () => {
    const news = { taskKey: TASK_KEY, fromSeq: 1, toSeq: 90 };
    expect(decodeTaskMessage(TASK_KEY, encodeNews(news))).toEqual(news);
    const frames = Array.from({ length: 90 }, (_, index) => frame(index + 1, 'x'.repeat(3_000)));
    expect(encodeNews({ ...news, frames })).toBe('1 90\n');
  });

  it('are told apart from a heartbeat, and from text that is neither', () => {
    const live = encodeHeartbeat(TASK_ID, 0, '{}');
    expect(decodeTaskMessage(TASK_KEY, encodeLive(live))).toEqual({ live });
    expect(['', 'x', '1 2 3\n', '-1 2\n'].map((text) => decodeTaskMessage(TASK_KEY, text))).toEqual(
      Array(4).fill(undefined),
    );
  });
});
