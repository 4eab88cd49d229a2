import { describe, expect, it } from '@jest/globals';
import { checkRunnerEvent, draftEvent, isKeptAt, OversizeError } from './admission.js';

const check = (type: string, payload: unknown): unknown => checkRunnerEvent({ type, payload });

describe('admission', () => {
  it('lets an event pass that keeps to the table, its payload as it is', () => {
    const payload = { step_id: 's', error: { code: 'x', message: 'y' }, attempt: 2 };
    expect(checkRunnerEvent({ type: 'step.failed', payload }).payload).toBe(payload);
    expect(check('tool.completed', { tool_call_id: 'c', tool_name: 't', output: null })).toBeDefined();
    expect(check('model.usage', { model: 'm', usage: { input_tokens: 1, output_tokens: 0 } })).toBeDefined();
  });

  it.each([
    ['task.succeeded', { result: { text: '', metadata: {} } }],
    ['artifact.created', {}],
    ['heartbeat', { run_no: 1 }],
    ['agent.request_confirmation', {}],
    ['tool.denied', { tool_call_id: 'c', tool_name: 't', reason: 'r' }],
    ['no.such.event', {}],
    ['__proto__', {}],
    ['toString', {}],
  ])('refuses %s, which a runner may not emit', (type, payload) => {
    expect(() => check(type, payload)).toThrow(/may not emit|no event of the type/);
  });

  it.each([
    ['a missing field', 'step.started', { step_id: 's' }],
    ['an unknown field', 'step.completed', { step_id: 's', note: 'x' }],
    ['a field of another kind', 'step.completed', { step_id: 7 }],
    ['a fraction for a count', 'step.completed', { step_id: 's', attempt: 1.5 }],
    ['U+0000', 'message.delta', { message_id: 'm', text: 'a\0b' }],
    ['half of a surrogate pair', 'message.delta', { message_id: 'm', text: 'a\ud83d' }],
    ['an error without a code', 'tool.failed', { tool_call_id: 'c', tool_name: 't', error: { message: 'm' } }],
    ['a negative count of tokens', 'model.usage', { model: 'm', usage: { input_tokens: -1, output_tokens: 0 } }],
    ['no payload', 'step.completed', null],
    ['a claim to be the final answer', 'message.completed', { message_id: 'm', role: 'a', text: '', final: true }],
  ])('refuses %s', (_, type, payload) => {
    expect(() => check(type, payload)).toThrow(expect.objectContaining({ name: 'ProtocolError' }));
  });

  it('refuses a payload that is no JSON', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const body = checkRunnerEvent({ type: 'agent.event', payload: { framework: 'f', event: cycle } });
    expect(() => draftEvent(body)).toThrow('cannot be written as JSON');
  });

  it('counts the bound of a payload in bytes of UTF-8', () => {
    const message = (text: string) => draftEvent({ type: 'thinking.delta', payload: { message_id: 'm', text } });
    const head = '{"message_id":"m","text":""}'.length;
    expect(message('é'.repeat((15_872 - head) / 2)).json).toHaveLength(head + (15_872 - head) / 2);
    expect(() => message('é'.repeat((15_872 - head) / 2 + 1))).toThrow(OversizeError);
  });

  it('keeps what the detail of the task asks for', () => {
    expect(isKeptAt('status', 'step.started')).toBe(true);
    expect(isKeptAt('status', 'message.delta')).toBe(false);
    expect(isKeptAt('full', 'message.delta')).toBe(true);
    expect(isKeptAt('full', 'agent.event')).toBe(false);
    expect(isKeptAt('verbose', 'agent.event')).toBe(true);
  });
});
