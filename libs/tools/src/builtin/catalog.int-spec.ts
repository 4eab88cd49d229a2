import { describe, expect, it } from '@jest/globals';
import { BUILTIN_TOOLS } from './catalog.js';

const MEBIBYTE = 1024 * 1024;
const TEXTS = {
  English: 'The hotel was clean and quiet, but the breakfast was cold. Nobody answered the phone in Room 12! ',
  Chinese: '酒店干净安静，但是早餐是冷的。十二号房间没有人接电话！',
  'one word': 'word ',
  'one letter': 'a',
};

const CALL = { tenant: 't', taskId: 'task', toolCallId: 'call_1', idempotencyKey: 'key.call_1' };

describe('BUILTIN_TOOLS', () => {
  it.each(Object.entries(TEXTS))('work through a mebibyte of %s in seconds', async (_name, text) => {
    const input = text.repeat(Math.ceil(MEBIBYTE / Buffer.byteLength(text)));
    const { signal } = new AbortController();
    const startedMs = performance.now();
    for (const tool of BUILTIN_TOOLS.values()) await tool.execute({}, { ...CALL, input, signal });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it('let other work go on meanwhile and stop soon after an abort', async () => {
    const input = TEXTS.English.repeat(20_000);
    for (const tool of BUILTIN_TOOLS.values()) {
      const abort = new AbortController();
      let turns = 0;
      const timer = setInterval(() => {
        turns += 1;
        if (turns === 3) abort.abort();
      }, 1);
      await expect(tool.execute({}, { ...CALL, input, signal: abort.signal })).rejects.toMatchObject({
        name: 'AbortError',
      });
      clearInterval(timer);
      expect(turns).toBe(3);
    }
  });
});
