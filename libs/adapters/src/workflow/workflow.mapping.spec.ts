import { describe, expect, it } from '@jest/globals';
import { isAdapterError, type RunnerItem } from '../contract/index.js';
import { planSite } from './site.planner.js';
import { requestOf } from './site.request.js';
import type { SiteState } from './site.stages.js';
import { checkpointOf } from './workflow.answers.js';
import { Narrator, resultOf } from './workflow.mapping.js';

function done(change: Partial<SiteState> = {}): SiteState {
  return {
    request: 'r',
    plan: planSite('a guest book with name and message; send an email to me'),
    plannedBy: 'local',
    files: [{ name: 'index.html', mediaType: 'text/html', content: '<p>' }],
    codeBy: 'templates',
    executed: true,
    report: { passed: 2, failed: 1, checks: [{ name: 'store: entry 1', ok: false }] },
    archive: 'guest-book.zip',
    fallbacks: [],
    usage: { input_tokens: 0, output_tokens: 0 },
    accepted: true,
    ...change,
  };
}

function metadataOf(item: RunnerItem): unknown {
  return item.kind === 'result' ? item.result.metadata : undefined;
}

describe('the request in an input', () => {
  it.each([
    ['a string', ' build it '],
    ['an object', { request: 'build it' }],
    ['parts', [{ type: 'text', text: 'build it' }]],
    ['a data part', [{ type: 'data', data: { request: 'build it' } }]],
  ])('is read from %s', (_, input) => {
    expect(requestOf(input)).toBe('build it');
  });

  it.each([['', {}, [], 7, null, { request: 7 }, { request: ' ' }]].flat())(
    'is missing in %j, which is rejected',
    (input) => {
      expect(() => requestOf(input)).toThrow(expect.objectContaining({ kind: 'rejected' }));
    },
  );
});

describe('telling a workflow', () => {
  it('makes a retry of a stage a retry of its step, without words of the endpoint', () => {
    const narrator = new Narrator(1);
    const error = Object.assign(new Error('x'), { name: 'StageRetryError', cause: new Error('key sk-123 refused') });
    const items = [
      ...narrator.items({ kind: 'started', stage: 'plan', attempt: 1 }),
      ...narrator.items({ kind: 'started', stage: 'plan', attempt: 2, error }),
      ...narrator.failed(error),
    ];
    expect(items.map((item) => (item.kind === 'event' ? item.type : item.kind))).toEqual([
      'step.started',
      'step.retrying',
      'step.failed',
    ]);
    expect(JSON.stringify(items)).not.toContain('sk-123');
  });

  it('names the steps of a later run apart from those a lost run left open', () => {
    const [item] = new Narrator(3).items({ kind: 'started', stage: 'test', attempt: 1 });
    expect(item).toMatchObject({ type: 'step.started', payload: { step_id: 'test.3', step_name: 'test' } });
  });

  it('tells whole a stage that an earlier run had finished and not told', () => {
    const items = [...new Narrator(2).items({ kind: 'finished', stage: 'write', update: {} })];
    expect(items.map((item) => (item.kind === 'event' ? item.type : item.kind))).toEqual([
      'step.started',
      'agent.event',
      'step.completed',
    ]);
  });

  it('reads back the checkpoint it wrote, and no other, and does not write the one it goes on from', () => {
    expect([...new Narrator(2, 'c1').items({ kind: 'checkpoint', id: 'c1', state: {} })]).toEqual([]);
    const [item] = new Narrator(2, 'c0').items({ kind: 'checkpoint', id: 'c1', state: {} });
    expect(checkpointOf({ checkpoint: item?.kind === 'checkpoint' ? item.data : undefined })).toEqual({
      checkpoint_id: 'c1',
    });
    expect(checkpointOf({ checkpoint: { messages: [] } })).toBeUndefined();
  });
});

describe('the result', () => {
  it('names failed tests and what was not built', () => {
    const item = resultOf(done(), undefined);
    const text = item.kind === 'result' ? item.result.text : '';
    expect(text).toContain('2 passed, 1 failed');
    expect(text).toContain('store: entry 1');
    expect(text).toContain('send an email to me');
  });

  it('names the model that planned, and says when the local planner had to', () => {
    expect(metadataOf(resultOf(done(), undefined))).toEqual({ model: 'local' });
    expect(metadataOf(resultOf(done({ plannedBy: 'm1' }), 'm1'))).toEqual({ model: 'm1' });
    expect(metadataOf(resultOf(done({ fallbacks: ['plan'] }), 'm1'))).toEqual({
      model: 'local',
      configured_model: 'm1',
      local_fallback: ['plan'],
    });
  });

  it('says that code a model wrote was not run', () => {
    const item = resultOf(done({ codeBy: 'model', executed: false }), 'm1');
    expect(item.kind === 'result' ? item.result.text : '').toContain('parsed, not run');
    expect(isAdapterError(item)).toBe(false);
  });
});
