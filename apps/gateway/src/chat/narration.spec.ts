import { describe, expect, it } from '@jest/globals';
import type { EventBody } from '#lib/domain';
import { finishOf, Narration } from './narration.js';

const started: EventBody = { type: 'message.started', payload: { message_id: 'm1', role: 'assistant' } };
const delta = (text: string): EventBody => ({ type: 'message.delta', payload: { message_id: 'm1', text } });
const completed = (text: string, final?: boolean): EventBody => ({
  type: 'message.completed',
  payload: { message_id: 'm1', role: 'assistant', text, ...(final ? { final } : {}) },
});
const retrying: EventBody = { type: 'task.retrying', payload: { run_no: 2, runtime_id: 'r', reason: 'lost' } };
const used = (input_tokens: number, output_tokens: number): EventBody => ({
  type: 'model.usage',
  payload: { model: 'm', usage: { input_tokens, output_tokens } },
});

function told(narration: Narration, ...events: readonly EventBody[]): string {
  const parts = events.flatMap((event) => narration.take({ ...event, seq: 1, timestamp: '' }));
  return parts.map((part) => (part.kind === 'text' ? part.text : `<${part.kind}>`)).join('|');
}

describe('what an agent says', () => {
  it('is told piece by piece, and only what pieces have left out once it is complete', () => {
    const narration = new Narration(true, false);
    expect(told(narration, started, delta('Half'), delta(' of'), completed('Half of it'))).toBe('Half| of| it');
  });

  it('is told as a whole where pieces are not wanted, without what a lost run has begun', () => {
    const narration = new Narration(false, false);
    expect(told(narration, started, delta('Lost'), retrying, started, delta('Kept'), completed('Kept'))).toBe('Kept');
    const live = new Narration(true, false);
    expect(told(live, started, delta('Lost'), retrying, started, delta('Kept'))).toBe('Lost|\n\nKept');
  });

  it('is told from its completion on to who has not seen it begin', () => {
    expect(told(new Narration(true, false), delta('of it'), completed('All of it'))).toBe('All of it');
  });

  it('ends with its last message, of which an event may hold the beginning only', () => {
    const narration = new Narration(false, false);
    told(narration, completed('The beg', true));
    expect(narration.isUntold).toBe(true);
    expect(narration.conclude('The beginning.')).toEqual([{ kind: 'text', text: 'The beginning.' }]);
    const pieces = new Narration(false, false);
    told(pieces, started, delta('The begin'), delta('ning.'), completed('The beg', true));
    expect(pieces.isUntold).toBe(false);
    expect(pieces.conclude()).toEqual([{ kind: 'text', text: 'The beginning.' }]);
  });

  it('is thoughts only where they are shown', () => {
    const thought: EventBody = { type: 'thinking.delta', payload: { message_id: 't', text: 'Hm.' } };
    expect(told(new Narration(true, false), thought)).toBe('');
    expect(told(new Narration(true, true), thought)).toBe('<reasoning>');
  });
});

describe('usage', () => {
  it('is that of the calls that were told, else that of the task, else nothing', () => {
    const narration = new Narration(true, false);
    expect(narration.usage(undefined)).toBeUndefined();
    expect(narration.usage({ input_tokens: 5, output_tokens: 6 })).toMatchObject({ total_tokens: 11 });
    told(narration, used(1, 2), used(3, 4));
    expect(narration.usage({ input_tokens: 5, output_tokens: 6 })).toEqual({
      prompt_tokens: 4,
      completion_tokens: 6,
      total_tokens: 10,
    });
  });
});

it('the reason of an end is the runner’s where it knows one of ours', () => {
  expect(['length', 'content_filter', 'error', undefined].map((finish_reason) => finishOf({ finish_reason }))).toEqual([
    'length',
    'content_filter',
    'stop',
    'stop',
  ]);
});
