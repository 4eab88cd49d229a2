import { describe, expect, it } from '@jest/globals';
import {
  addUsage,
  bound,
  mergeOutputs,
  messagesOfTurn,
  outputForModel,
  parseOptions,
  promptOf,
} from './dialogue.mapping.js';

describe('promptOf', () => {
  it.each([
    ['plain text', 'plain text'],
    [{ text: 'in an object' }, 'in an object'],
    [
      [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
      'one\n\ntwo',
    ],
    [{ city: 'Paris' }, '{"city":"Paris"}'],
    [{ text: 'more', and: 'more' }, '{"text":"more","and":"more"}'],
    [null, 'null'],
  ])('turns %j into what the model reads', (input, text) => {
    expect(promptOf(input, 100)).toEqual({ text, omitted: 0 });
  });

  it('cuts a long input, counts what is missing and tells the model', () => {
    const { text, omitted } = promptOf('x'.repeat(50), 20);
    expect(omitted).toBe(30);
    expect(text).toMatch(/^x{20}\n\n\[The input goes on: 50 characters/);
  });
});

describe('bound', () => {
  it('never splits a character in two', () => {
    expect(bound('ab😀', 3)).toEqual({ text: 'ab', omitted: 2 });
  });
});

describe('outputForModel', () => {
  it('keeps JSON that is short and cuts the text of what is long', () => {
    expect(outputForModel({ a: 1 }, 100)).toEqual({ value: { a: 1 }, omitted: 0 });
    expect(outputForModel(undefined, 100)).toEqual({ value: null, omitted: 0 });
    expect(outputForModel('y'.repeat(30), 11)).toEqual({
      value: `"${'y'.repeat(10)} [21 more characters]`,
      omitted: 21,
    });
  });
});

describe('messagesOfTurn', () => {
  it('makes one turn of all calls, results and failures alike', () => {
    const messages = messagesOfTurn([
      { toolCallId: 'a', toolName: 'add', args: {}, outcome: { value: 3 } },
      { toolCallId: 'b', toolName: 'add', args: {}, outcome: { error: 'unknown' } },
    ]);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(messages[1]?.content).toMatchObject([
      { toolCallId: 'a', output: { type: 'json', value: 3 } },
      { toolCallId: 'b', output: { type: 'error-text', value: 'unknown' } },
    ]);
    expect(messagesOfTurn([])).toEqual([]);
  });
});

describe('mergeOutputs', () => {
  it('merges objects and keeps anything else under the name of its tool', () => {
    const outputs = new Map<string, unknown>([
      ['one', { a: 1, b: 1 }],
      ['two', { b: 2 }],
      ['three', [3]],
    ]);
    expect(mergeOutputs(outputs)).toEqual({ a: 1, b: 2, three: [3] });
  });
});

describe('addUsage', () => {
  it('adds what there is', () => {
    const usage = { input_tokens: 1, output_tokens: 2 };
    expect(addUsage(undefined, undefined)).toBeUndefined();
    expect(addUsage(usage, undefined)).toEqual(usage);
    expect(addUsage(usage, usage)).toEqual({ input_tokens: 2, output_tokens: 4 });
  });
});

describe('parseOptions', () => {
  it('has a default for everything', () => {
    expect(parseOptions({})).toEqual({
      instructions: undefined,
      collect: [],
      maxModelCalls: 32,
      inputLimit: 48_000,
      conversationLimit: 256_000,
      idleMs: 120_000,
      temperature: undefined,
    });
  });
});
