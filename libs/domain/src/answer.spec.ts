import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type AnswerRequest,
  decideAnswer,
  type DecisionRequest,
  DENIAL,
  type ItemAnswer,
  namesNothing,
  type PendingItem,
  type ResultRequest,
  toTaskAnswer,
} from './answer.js';
import { isDomainError } from './errors.js';

const item = (tool_call_id: string, kind: PendingItem['kind'] = 'tool_confirmation'): PendingItem => ({
  tool_call_id,
  kind,
  ...(kind === 'question' ? {} : { tool_name: 'send' }),
});
const [c1, c2, q1, q2, t1] = [
  item('c1'),
  item('c2'),
  item('q1', 'question'),
  item('q2', 'question'),
  item('t1', 'client_tool'),
];

const request = (change: Partial<AnswerRequest>): AnswerRequest => ({ decisions: [], results: [], ...change });
const decide = (pending: readonly PendingItem[], change: Partial<AnswerRequest>): unknown =>
  decideAnswer(pending, request(change), () => []);

/** Code and places of the refusal. */
function refusal(pending: readonly PendingItem[], change: Partial<AnswerRequest>): unknown {
  try {
    return decide(pending, change);
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return [error.code, ...error.faults.map(({ path, code }) => `${path} ${code}`)];
  }
}

describe('a confirmation', () => {
  it('is approved by the boolean true and nothing else', () => {
    for (const approved of ['true', 1, 'yes', {}, [true], null, undefined, false]) {
      const decisions = [{ tool_call_id: 'c1', approved }];
      expect(decide([c1], { decisions })).toEqual([{ tool_call_id: 'c1', approved: false, reason: DENIAL }]);
    }
    expect(decide([c1], { decisions: [{ tool_call_id: 'c1', approved: true }] })).toEqual([
      { tool_call_id: 'c1', approved: true },
    ]);
  });

  it('that nobody decides is denied, with the usual words for a reason that says nothing', () => {
    const decisions = [{ tool_call_id: 'c2', approved: false, reason: ' \n' }];
    expect(decide([c1, c2], { decisions })).toEqual([
      { tool_call_id: 'c1', approved: false, reason: 'Permission denied by user' },
      { tool_call_id: 'c2', approved: false, reason: 'Permission denied by user' },
    ]);
    expect(decide([c1, item('a', 'authorization')], {})).toEqual([
      { tool_call_id: 'c1', approved: false, reason: DENIAL },
      { tool_call_id: 'a', approved: false, reason: DENIAL },
    ]);
  });

  it('is denied for the reason in input, where no question is asked and nothing else is said of it', () => {
    expect(decide([c1, c2], { input: 'too dear' })).toEqual([
      { tool_call_id: 'c1', approved: false, reason: 'too dear' },
      { tool_call_id: 'c2', approved: false, reason: 'too dear' },
    ]);
    const decisions = [{ tool_call_id: 'c1', approved: true }];
    expect(decide([c1, c2], { decisions, input: 'not that one' })).toEqual([
      { tool_call_id: 'c1', approved: true },
      { tool_call_id: 'c2', approved: false, reason: 'not that one' },
    ]);
    expect(refusal([c1], { decisions, input: 'and now?' })).toEqual(['invalid_request', '/input duplicate']);
  });

  it('takes other arguments whole, if they are an object that its tool takes', () => {
    const edited_args = { to: 'eve', constructor: [1.5] };
    const decisions = [{ tool_call_id: 'c1', approved: true, edited_args }];
    expect(decide([c1], { decisions })).toEqual([{ tool_call_id: 'c1', approved: true, edited_args }]);
    for (const wrong of ['x', 7, [], true]) {
      const refused = refusal([c1], { decisions: [{ tool_call_id: 'c1', approved: true, edited_args: wrong }] });
      expect(refused).toEqual(['invalid_edited_args', '/decisions/0/edited_args invalid_edited_args']);
    }
    const asked: unknown[] = [];
    const check = (tool: string, args: unknown): { path: string; message: string }[] => {
      asked.push([tool, args]);
      return [{ path: '/to', message: 'must be a number' }];
    };
    expect(() => decideAnswer([c1], request({ decisions }), check)).toThrow(
      '/decisions/0/edited_args/to: must be a number.',
    );
    expect(asked).toEqual([['send', edited_args]]);
  });

  it('that is denied takes no arguments along', () => {
    const decisions = [{ tool_call_id: 'c1', approved: 'true', reason: 'no', edited_args: { to: 'eve' } }];
    expect(decide([c1], { decisions })).toEqual([{ tool_call_id: 'c1', approved: false, reason: 'no' }]);
  });

  it('has no result', () => {
    const results = [{ tool_call_id: 'c1', output: 'made' }];
    expect(refusal([c1], { results })).toEqual(['invalid_request', '/results/0 wrong_kind']);
  });
});

describe('a question', () => {
  it('is answered by input, by its result, or by accepting what was proposed', () => {
    expect(decide([q1], { input: 'blue' })).toEqual([{ tool_call_id: 'q1', input: 'blue' }]);
    expect(decide([q1], { results: [{ tool_call_id: 'q1', output: 'blue' }] })).toEqual([
      { tool_call_id: 'q1', input: 'blue' },
    ]);
    expect(decide([q1], { results: [{ tool_call_id: 'q1', output: { rgb: 255 } }] })).toEqual([
      { tool_call_id: 'q1', output: { rgb: 255 } },
    ]);
    const decisions = [{ tool_call_id: 'q1', approved: true }];
    expect(decide([q1], { decisions })).toEqual([{ tool_call_id: 'q1', approved: true }]);
    expect(decide([q1], { decisions, input: 'but brighter' })).toEqual([
      { tool_call_id: 'q1', approved: true, input: 'but brighter' },
    ]);
  });

  it('whose proposal is refused is answered by why', () => {
    expect(decide([q1], { decisions: [{ tool_call_id: 'q1', approved: false, reason: 'red' }] })).toEqual([
      { tool_call_id: 'q1', input: 'red' },
    ]);
  });

  it('takes input to itself: confirmations beside it are denied for the usual reason', () => {
    expect(decide([c1, q1], { input: 'blue' })).toEqual([
      { tool_call_id: 'c1', approved: false, reason: DENIAL },
      { tool_call_id: 'q1', input: 'blue' },
    ]);
  });

  it('is never left without an answer', () => {
    const open = ['answer_required', ' answer_required'];
    expect(refusal([q1], {})).toEqual(open);
    expect(refusal([c1, q1], { decisions: [{ tool_call_id: 'c1', approved: true }] })).toEqual(open);
    expect(refusal([q1], { decisions: [{ tool_call_id: 'q1', approved: false, reason: ' ' }] })).toEqual(open);
    expect(refusal([q1], { results: [{ tool_call_id: 'q1', output: null }] })).toEqual(open);
    expect(refusal([q1], { results: [{ tool_call_id: 'q1', error: 'who knows' }] })).toEqual(open);
  });

  it('is answered once', () => {
    const results = [{ tool_call_id: 'q1', output: 'blue' }];
    expect(refusal([q1], { results, input: 'red' })).toEqual(['invalid_request', '/input duplicate']);
  });

  it('among several is answered by its result, never by input', () => {
    expect(refusal([q1, q2], { input: 'blue' })).toEqual(['ambiguous_input', '/input ambiguous_input']);
    const results = [
      { tool_call_id: 'q2', output: 'now' },
      { tool_call_id: 'q1', output: 'blue' },
    ];
    expect(decide([q1, q2], { results })).toEqual([
      { tool_call_id: 'q1', output: 'blue' },
      { tool_call_id: 'q2', output: 'now' },
    ]);
  });
});

describe('a client-side tool', () => {
  it('has an output, which may be null, or an error', () => {
    expect(decide([t1], { results: [{ tool_call_id: 't1', output: null }] })).toEqual([
      { tool_call_id: 't1', output: null },
    ]);
    expect(decide([t1], { results: [{ tool_call_id: 't1', output: 0, error: null }] })).toEqual([
      { tool_call_id: 't1', output: 0 },
    ]);
    expect(decide([t1], { results: [{ tool_call_id: 't1', error: 'offline' }] })).toEqual([
      { tool_call_id: 't1', error: 'offline' },
    ]);
    for (const result of [{}, { output: 1, error: 'x' }]) {
      expect(refusal([t1], { results: [{ tool_call_id: 't1', ...result }] })).toEqual([
        'invalid_request',
        '/results/0 one_of',
      ]);
    }
  });

  it('without a result has failed, for the reason there is', () => {
    expect(decide([t1], {})).toEqual([{ tool_call_id: 't1', error: 'No result was given.' }]);
    expect(decide([t1], { decisions: [{ tool_call_id: 't1', approved: false, reason: 'not here' }] })).toEqual([
      { tool_call_id: 't1', error: 'not here' },
    ]);
    const edited_args = { to: 'eve' };
    expect(refusal([t1], { decisions: [{ tool_call_id: 't1', approved: true, edited_args }] })).toEqual([
      'invalid_edited_args',
      '/decisions/0/edited_args invalid_edited_args',
    ]);
  });
});

describe('an answer', () => {
  it('names only what is asked, and that once', () => {
    const decisions = [
      { tool_call_id: 'c1', approved: true },
      { tool_call_id: 'x', approved: true },
      { tool_call_id: 'c1', approved: false },
    ];
    const results = [{ tool_call_id: 'toString', output: 1 }];
    expect(refusal([c1, t1], { decisions, results })).toEqual([
      'invalid_request',
      '/decisions/1/tool_call_id unknown_id',
      '/decisions/2/tool_call_id duplicate',
      '/results/0/tool_call_id unknown_id',
    ]);
  });

  it('that names nothing is one to whatever is asked', () => {
    expect(namesNothing(request({ input: 'yes' }))).toBe(true);
    expect(namesNothing(request({ decisions: [{ tool_call_id: 'c1' }] }))).toBe(false);
    expect(namesNothing(request({ results: [{ tool_call_id: 't1', output: 1 }] }))).toBe(false);
  });

  it('of several kinds is told to the run by kind', () => {
    const items = decideAnswer(
      [c1, q1, t1, c2],
      request({
        decisions: [{ tool_call_id: 'c2', approved: true, reason: 'fine', edited_args: { a: 1 } }],
        results: [{ tool_call_id: 't1', output: [1] }],
        input: 'blue',
      }),
      () => [],
    );
    expect(toTaskAnswer(items)).toEqual({
      decisions: [
        { tool_call_id: 'c1', approved: false, reason: DENIAL },
        { tool_call_id: 'c2', approved: true, reason: 'fine', edited_args: { a: 1 } },
      ],
      input: 'blue',
      results: [{ tool_call_id: 't1', output: [1] }],
    });
  });

  const kinds = fc.constantFrom<PendingItem['kind']>('tool_confirmation', 'question', 'client_tool', 'authorization');
  const pendings = fc
    .array(kinds, { minLength: 1, maxLength: 5 })
    .map((list) => list.map((kind, index) => item(`i${index}`, kind)));
  const id = fc.nat(5).map((index) => `i${index}`);
  const text = fc.option(fc.constantFrom('', ' ', 'because'), { nil: undefined });
  const decisions: fc.Arbitrary<DecisionRequest[]> = fc.array(
    fc.record({
      tool_call_id: id,
      approved: fc.constantFrom(true, true, false, 'true', 1, undefined),
      reason: text,
      edited_args: fc.constantFrom(undefined, undefined, { a: 1 }, 'x'),
    }),
    { maxLength: 3 },
  );
  const results: fc.Arbitrary<ResultRequest[]> = fc.array(
    fc
      .tuple(id, fc.constantFrom({ output: null }, { output: 1 }, { output: 'text' }, { error: 'failed' }, {}))
      .map(([tool_call_id, result]) => ({ tool_call_id, ...result })),
    { maxLength: 2 },
  );

  /** What an accepted answer made of an item that it must not. */
  function breaches(pending: readonly PendingItem[], answer: AnswerRequest, items: readonly ItemAnswer[]): unknown[] {
    const { decisions: told, results: given, input } = toTaskAnswer(items);
    const about = <T extends { tool_call_id: string }>(list: readonly T[], id: string): T | undefined =>
      list.find(({ tool_call_id }) => tool_call_id === id);
    const holds: Readonly<Record<PendingItem['kind'], (id: string) => boolean>> = {
      tool_confirmation: (id) => about(told, id)?.approved === (about(answer.decisions, id)?.approved === true),
      authorization: (id) => about(told, id)?.approved === (about(answer.decisions, id)?.approved === true),
      question: (id) => (about(told, id)?.approved ?? about(given, id)?.output ?? input) !== undefined,
      client_tool: (id) => about(told, id) === undefined && about(given, id) !== undefined,
    };
    const mute = told.filter(({ approved, reason }) => !approved && !reason?.trim());
    return [...pending.filter(({ kind, tool_call_id }) => !holds[kind](tool_call_id)), ...mute];
  }

  const CODES: readonly unknown[] = ['invalid_request', 'invalid_edited_args', 'ambiguous_input', 'answer_required'];

  it('is refused, or leaves no item undecided and approves none that nobody approved', () => {
    let accepted = 0;
    fc.assert(
      fc.property(pendings, decisions, results, text, (pending, decided, returned, input) => {
        const answer = { decisions: decided, results: returned, input };
        let items: readonly ItemAnswer[];
        try {
          items = decideAnswer(pending, answer, () => []);
        } catch (error) {
          return CODES.includes((error as { code?: unknown }).code);
        }
        accepted += 1;
        const ids = items.map(({ tool_call_id }) => tool_call_id);
        return (
          ids.join() === pending.map(({ tool_call_id }) => tool_call_id).join() &&
          breaches(pending, answer, items).length === 0
        );
      }),
      { numRuns: 1_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });
});
