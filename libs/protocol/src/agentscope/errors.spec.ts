import { describe, expect, it } from '@jest/globals';
import { DomainError, type ErrorCode } from '#lib/domain';
import { encodeError } from './errors.js';

const LENIENT = { isStrict: false, isAnswerable: true };
const STRICT = { isStrict: true, isAnswerable: true };

const tell = (code: ErrorCode, operation?: string, options = LENIENT): unknown => {
  const { status, body } = encodeError(new DomainError(code, 'As it is.'), { taskId: 't', operation }, options);
  return [status, body];
};

describe('an error', () => {
  it('is one line for people, with the status it has everywhere', () => {
    expect(tell('invalid_request')).toEqual([400, { error: 'As it is.' }]);
    expect(tell('unknown_agent')).toEqual([422, { error: 'As it is.' }]);
    expect(encodeError(new DomainError('not_found', 'No artifact.'), undefined, STRICT)).toEqual({
      ...{ status: 404, body: { error: 'No artifact.' } },
    });
  });

  it('has the words clients know', () => {
    expect(tell('not_waiting', 'resume')).toEqual([409, { error: 'task is not awaiting confirmation: t' }]);
    expect(tell('wait_changed', 'resume')).toEqual([409, { error: 'task is already running: t' }]);
    const off = { isStrict: false, isAnswerable: false };
    expect(tell('not_waiting', 'resume', off)).toEqual([409, { error: 'HITL is disabled on this server' }]);
    // 404 and 405 mean that there is no such stream, 409 something else.
    expect(tell('not_available', 'events')).toEqual([501, { error: 'As it is.' }]);
  });

  const error = 'task not found';
  it.each([
    [undefined, [404, { task_id: 't', status: 'error', error }], [200, { task_id: 't', status: 'error', error }]],
    ['wait', [404, { status: 'error', error }], [200, { status: 'error', error }]],
    ['cancel', [404, { error }], [200, undefined]],
    ['resume', [404, { error }], [409, { error: 'task is not awaiting confirmation: t' }]],
    ['events', [404, { error }], [404, { error }]],
    ['artifacts', [404, { error }], [404, { error }]],
    ['nothing', [404, { error: 'As it is.' }], [404, { error: 'As it is.' }]],
  ])('of an unknown task is told by %s, and as AgentScope does where that is asked for', (operation, ours, theirs) => {
    expect(tell('not_found', operation)).toEqual(ours);
    expect(tell('not_found', operation, STRICT)).toEqual(theirs);
  });
});
