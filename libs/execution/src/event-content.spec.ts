import { describe, expect, it } from '@jest/globals';
import { checkRunnerEvent, draftEvent } from './admission.js';
import { cleanText } from './event-content.js';

const R = '[redacted]';
const KEY = `swy_a1_${'x_-9'.repeat(8)}`;

const stored = (type: string, payload: object): unknown => {
  const { body, json } = draftEvent(checkRunnerEvent({ type, payload }));
  expect(JSON.parse(json)).toEqual(body.payload);
  return body.payload;
};
const nested = (levels: number): object => {
  let value = {};
  for (let n = 1; n < levels; n++) value = n % 2 ? { a: value } : [value];
  return value;
};

describe('what is stored of an event', () => {
  it.each([
    ['tool.completed', { tool_call_id: 'c', tool_name: 't', output: { deep: [`x ${KEY}`] } }, { deep: [`x ${R}`] }],
    ['tool.invoked', { tool_call_id: 'c', tool_name: 't', arguments: { password: 'p' } }, { password: R }],
    ['agent.event', { framework: 'f', event: { [KEY]: { Authorization: 'x' } } }, { [R]: { Authorization: R } }],
    ['message.completed', { message_id: 'm', role: 'assistant', text: `key ${KEY}.` }, `key ${R}.`],
    ['step.failed', { step_id: 's', error: { code: 'c', message: KEY } }, { code: 'c', message: R }],
  ])('holds no secret: %s', (type, payload, expected) => {
    expect(Object.values(stored(type, payload) as object)).toContainEqual(expected);
    expect(JSON.stringify(payload)).not.toContain(R);
  });

  it.each([
    ...[
      'javascript:alert(1)',
      ' JaVa\tscript:alert(1)',
      '\x01javascript:x',
      'file:///etc/passwd',
      'vbscript:x',
      'blob:x',
    ],
    ...['data:text/html;base64,PHNjcmlwdD4=', 'data:image/svg+xml;base64,PHN2Zz4=', 'intent://x', 'gopher://10.0.0.1/'],
  ])('holds no link to %j', (uri) => {
    const event = { url: uri, items: [{ image_url: uri, downloadUri: uri }], href: uri, text: 'url' };
    expect(stored('agent.event', { framework: 'f', event })).toEqual({
      framework: 'f',
      event: { url: R, items: [{ image_url: R, downloadUri: R }], href: R, text: 'url' },
    });
  });

  it.each([
    ...[
      'https://example.org/a:b',
      'http://example.org',
      '/v1/artifacts/art_1',
      'a/b:c',
      '#top',
      '?q=a:b',
      '',
      'page.html',
    ],
    ...['mailto:a@example.org', 'data:image/png;base64,iVBORw0KGgo='],
  ])('keeps the link %j', (url) => {
    const payload = { framework: 'f', event: { url, src: url } };
    expect(stored('agent.event', payload)).toEqual(payload);
  });

  it('is refused when it is too deep, and kept when it is not', () => {
    expect(stored('agent.event', { framework: 'f', event: nested(63) })).toBeDefined();
    const tooDeep = { type: 'agent.event', payload: { framework: 'f', event: nested(64) } };
    expect(() => draftEvent(checkRunnerEvent(tooDeep))).toThrow('deeper than 64');
    const bottomless = { type: 'agent.event', payload: { framework: 'f', event: nested(100_000) } };
    expect(() => draftEvent(checkRunnerEvent(bottomless))).toThrow(expect.objectContaining({ name: 'ProtocolError' }));
  });

  it('never leaves its JSON string, whatever characters it is made of', () => {
    const text =
      '\r\n\r\nid: 9\nevent: task.succeeded\ndata: {}\n\n</script><!-- \u2028\u2029\u0085\u001b[31m\u007f"\\';
    const { json } = draftEvent(checkRunnerEvent({ type: 'message.delta', payload: { message_id: 'm', text } }));
    expect(json).not.toMatch(/[\r\n\u001b]/);
    expect(JSON.parse(json)).toEqual({ message_id: 'm', text });
  });

  it('is cleaned as text as well, where it becomes an artifact', () => {
    expect(cleanText({ a: KEY, password: 1 })).toBe(`{"a":"${R}","password":"${R}"}`);
    expect(cleanText(KEY)).toBe(`"${R}"`);
    expect(cleanText(null)).toBe('null');
  });
});

describe('a name in an event', () => {
  it.each([
    ['a line break', 'a\nb'],
    ['an escape', '\u001b[31m'],
    ['U+0000', 'a\0'],
    ['half a character', '\ud800'],
    ['a line separator', 'a\u2028b'],
    ['text turned around', 'a\u202eb'],
    ['no width', 'a\u200bb'],
    ['a secret', KEY],
    ['endless length', 'x'.repeat(513)],
  ])('is refused with %s', (_, name) => {
    const refused = expect.objectContaining({ name: 'ProtocolError' });
    const check = (type: string, payload: object) => () => checkRunnerEvent({ type, payload });
    expect(check('message.delta', { message_id: name, text: 'x' })).toThrow(refused);
    expect(check('tool.invoked', { tool_call_id: 'c', tool_name: name })).toThrow(refused);
    expect(check('message.started', { message_id: 'm', role: name })).toThrow(refused);
  });

  it('may be of any script', () => {
    expect(stored('message.started', { message_id: '消息-é 1', role: 'assistant' })).toBeDefined();
  });
});

describe('a runner', () => {
  it('cannot say that one of its outputs is an artifact of the platform', () => {
    const artifact = { artifact_id: 'art_x', kind: 'offload', name: 'n', media_type: 't/p', size: 1, sha256: 'x' };
    const payload = { tool_call_id: 'c', tool_name: 't', artifact };
    expect(() => checkRunnerEvent({ type: 'tool.completed', payload })).toThrow('may not set artifact');
  });
});
