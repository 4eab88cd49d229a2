import { describe, expect, it } from '@jest/globals';
import { decodeSubmit } from './submit.js';

/** What is refused, and where. */
function faultsOf(body: unknown): unknown {
  try {
    return decodeSubmit(body);
  } catch (error) {
    const { message, faults } = error as { message: string; faults: { path: string }[] };
    return [message, faults.map(({ path }) => path)];
  }
}

describe('a submission', () => {
  it('takes scalars for texts, and what is missing for nothing', () => {
    const task = { agentId: undefined, type: undefined, detail: 'status', hasContext: false };
    expect(decodeSubmit({ task_id: 7 })).toEqual({ ...task, taskId: '7', input: '' });
    expect(decodeSubmit({ task_id: 't', agent_id: '', input: false, context: 'x', other: 1 })).toEqual({
      ...{ ...task, taskId: 't', input: 'false' },
    });
    expect(decodeSubmit({ task_id: 't', input: { a: 1 }, context: {} })).toMatchObject({
      ...{ input: { a: 1 }, hasContext: true, detail: 'status' },
    });
  });

  it.each([
    ['full', 'full'],
    [' VERBOSE ', 'verbose'],
    ['all', 'status'],
    [2, 'status'],
  ])('with the detail %j is told at %s', (detail, level) => {
    expect(decodeSubmit({ task_id: 't', context: { detail } }).detail).toBe(level);
  });

  it('is refused where it cannot be meant', () => {
    for (const task_id of [undefined, null, '', '  '])
      expect(faultsOf({ task_id })).toEqual(['task_id is required', ['/task_id']]);
    expect(faultsOf([])).toEqual([expect.any(String), ['']]);
    expect(faultsOf({ task_id: {}, agent_id: [], context: { user_id: 7, parent_session_id: 'a\n' } })).toEqual([
      expect.any(String),
      ['/task_id', '/agent_id', '/context/user_id', '/context/parent_session_id'],
    ]);
  });
});
