import { describe, expect, it } from '@jest/globals';
import { DomainError, ERRORS, type ErrorCode } from '#lib/domain';
import { encodeError } from './errors.js';
import { decodePage, encodePagination } from './pages.js';
import { decodeAnswer, decodeRequest } from './requests.js';
import { encodeArtifact, encodeTask } from './tasks.js';

const faultOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    const { code, faults } = error as DomainError;
    return [code, ...faults.map(({ path }) => path)];
  }
};

describe('requests', () => {
  it('take null for absent, and do not look at what they do not know', () => {
    expect(decodeRequest({ input: null, additional_input: null, more: 1 })).toEqual({});
    expect(decodeRequest({ input: '', additional_input: {} })).toEqual({ input: '', additionalInput: {} });
  });

  it.each([
    [{ input: 5 }, ['/input']],
    [{ input: [], additional_input: [] }, ['/input', '/additional_input']],
    [[], ['']],
    [null, ['']],
  ])('refuse %j with its path', (body, paths) => {
    expect(faultOf(() => decodeRequest(body))).toEqual(['invalid_request', ...paths]);
  });

  it('approve by the boolean only', () => {
    const decisions = [{ tool_call_id: 'c', approved: 'true' }];
    const path = '/additional_input/decisions/0/approved';
    expect(faultOf(() => decodeAnswer({ decisions }))).toEqual(['invalid_request', path]);
    expect(decodeAnswer({ anything: 1 })).toEqual({ decisions: [], results: [] });
  });
});

describe('pages', () => {
  it.each([
    [0, 10, 0],
    [1, 10, 1],
    [10, 10, 1],
    [11, 10, 2],
  ])('of %i items at %i are %i', (total, pageSize, pages) => {
    expect(encodePagination({ currentPage: 1, pageSize }, total).total_pages).toBe(pages);
  });

  it.each(['0', '-1', 'abc', '1.5', '1e3', '', ' 1', ['1', '2'], '2147483648'])('refuse %j', (text) => {
    expect(faultOf(() => decodePage({ page_size: text }))).toEqual(['invalid_request', 'query.page_size']);
  });
});

describe('tasks', () => {
  const asked = (input: string | null, context = '{}'): unknown => {
    const { input: text, additional_input } = encodeTask({ taskId: 't', input, context, artifacts: [] });
    return [text, additional_input];
  };

  it.each([
    ['"hello"', ['hello', {}]],
    ['""', [null, {}]],
    ['{"a":1}', [null, { a: 1 }]],
    ['[{"type":"text","text":"a"},{"type":"file","artifact_id":"x"},{"type":"text","text":"b"}]', ['a\nb', {}]],
    [null, [null, {}]],
  ])('asked for %s show it as %j, whatever protocol they came by', (input, shown) => {
    expect(asked(input)).toEqual(shown);
  });

  it('show additional input that stood beside an input', () => {
    expect(asked('"x"', '{"additional_input":{"n":1}}')).toEqual(['x', { n: 1 }]);
    expect(asked('"x"', '{"additional_input":[1]}')).toEqual(['x', {}]);
  });

  const file = { artifact_id: 'a', media_type: 'm', size: 1, sha256: 's' };
  it.each([
    [{ kind: 'produced', name: 'site/index.html' }, ['index.html', 'site/index.html', true]],
    [{ kind: 'log', name: 'log.txt' }, ['log.txt', null, true]],
    [{ kind: 'input', name: 'a.txt', relative_path: 'in' }, ['a.txt', 'in', false]],
    [{ kind: 'input', name: 'a.txt', relative_path: '' }, ['a.txt', '', false]],
    [{ kind: 'produced', name: 'folder/' }, ['folder/', 'folder/', true]],
  ] as const)('name %j as %j', (artifact, [name, path, isCreated]) => {
    const shown = { artifact_id: 'a', file_name: name, relative_path: path, agent_created: isCreated };
    expect(encodeArtifact({ ...file, ...artifact })).toEqual(shown);
  });
});

describe('errors', () => {
  it('have a message and the status of their code, but what is wrong with a request is 422', () => {
    const statuses = (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
      const { status, body } = encodeError(new DomainError(code, 'why'));
      return [code, status === ERRORS[code].status || (ERRORS[code].status === 400 && status === 422), body.message];
    });
    expect(statuses).toEqual(Object.keys(ERRORS).map((code) => [code, true, 'why']));
  });
});
