import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import type OpenAI7 from 'openai7';
import { DomainError, type ErrorCode, ERRORS, isDomainError } from '#lib/domain';
import { ChunkEncoder, type ChatCompletionChunk } from './chunks.js';
import { type ChatCompletion, CompletionBuilder } from './completion.js';
import { encodeError, encodeFailed, encodeLeaving } from './errors.js';
import { decodeRequest } from './request.js';

const HEAD = { id: 'chatcmpl-t1', created: 1_700_000_000, model: 'm' };
const CALL = { id: 'call_1', name: 'look', arguments: '{}' };
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const message = (role: string, more: object) => ({ role, ...more });
const user = message('user', { content: 'Hi.' });
const asking = message('assistant', {
  content: null,
  parsed: null,
  refusal: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}', parsed_arguments: null } }],
});
const told = message('tool', { tool_call_id: 'c1', content: 'seen' });

function faultsOf(body: object): readonly (readonly [string, string])[] {
  try {
    decodeRequest(body);
    return [];
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return error.faults.map(({ path, code }) => [path, code] as const);
  }
}

describe('a stream', () => {
  it('is chunks without names, from the role to the reason, with usage only where it was asked for', () => {
    const write = (includesUsage: boolean): string => {
      const encoder = new ChunkEncoder(HEAD, includesUsage);
      return [
        encoder.begin(),
        encoder.encode({ kind: 'text', text: 'Hi.\n' }),
        encoder.encode({ kind: 'calls', calls: [CALL, { ...CALL, id: 'call_2' }] }),
        encoder.encode({ kind: 'end', finish: 'tool_calls', usage: USAGE }),
      ].join('');
    };
    const chunk = (delta: string, finish = 'null', usage = ''): string =>
      `data: {"id":"chatcmpl-t1","object":"chat.completion.chunk","created":1700000000,"model":"m",` +
      `"choices":[{"index":0,"delta":${delta},"finish_reason":${finish},"logprobs":null}]${usage}}\n\n`;
    const begun = (index: number): string =>
      `{"tool_calls":[{"index":${index},"id":"call_${index + 1}","type":"function","function":{"name":"look","arguments":""}}]}`;
    const filled = (index: number): string => `{"tool_calls":[{"index":${index},"function":{"arguments":"{}"}}]}`;
    const deltas = [
      '{"role":"assistant","content":""}',
      '{"content":"Hi.\\n"}',
      begun(0),
      filled(0),
      begun(1),
      filled(1),
    ];
    const last = chunk('{}', '"tool_calls"');
    expect(write(false)).toBe(deltas.map((delta) => chunk(delta)).join('') + last + 'data: [DONE]\n\n');
    const open = ',"usage":null';
    const usage =
      `data: {"id":"chatcmpl-t1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[],` +
      `"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n`;
    expect(write(true)).toBe(
      deltas.map((delta) => chunk(delta, 'null', open)).join('') +
        chunk('{}', '"tool_calls"', open) +
        usage +
        'data: [DONE]\n\n',
    );
  });

  it('that fails ends with the error and nothing behind it', () => {
    const frame = new ChunkEncoder(HEAD, true).encode({ kind: 'failure', failure: encodeLeaving() });
    expect(frame).toMatch(/^data: \{"error":\{"message":.*"code":"overloaded"\}\}\n\n$/);
  });
});

describe('an answer', () => {
  it('is of the types of the official clients, whole or in chunks', () => {
    const builder = new CompletionBuilder(HEAD);
    builder.add({ kind: 'end', finish: 'stop', usage: USAGE });
    const ours = builder.outcome() as ChatCompletion;
    // That this compiles is what it shows.
    const six: OpenAI.Chat.ChatCompletion = ours;
    const seven: OpenAI7.Chat.ChatCompletion = ours;
    const [frame = ''] = new ChunkEncoder(HEAD, false).begin().split('\n');
    const chunk = JSON.parse(frame.slice('data: '.length)) as ChatCompletionChunk;
    const chunks: [OpenAI.Chat.ChatCompletionChunk, OpenAI7.Chat.ChatCompletionChunk] = [chunk, chunk];
    expect([six.usage, seven.object, chunks[0].object]).toEqual([USAGE, 'chat.completion', 'chat.completion.chunk']);
  });

  it('has no content where it is calls only, and no calls where there are none', () => {
    const built = (...parts: Parameters<CompletionBuilder['add']>[0][]): unknown => {
      const builder = new CompletionBuilder(HEAD);
      for (const part of parts) builder.add(part);
      return (builder.outcome() as ChatCompletion).choices[0]!.message;
    };
    expect(built({ kind: 'calls', calls: [CALL] }, { kind: 'end', finish: 'tool_calls' })).toEqual({
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    });
    expect(built({ kind: 'end', finish: 'stop' })).toEqual({ role: 'assistant', content: '', refusal: null });
  });
});

describe('a request', () => {
  it('may hold what nobody knows, and nothing where something may be absent', () => {
    const body = { model: 'm', messages: [user, asking, told], stream: null, tools: null, store: true, top_k: 5, n: 1 };
    expect(decodeRequest(body)).toMatchObject({ model: 'm', isStream: false, tools: [], metadata: {} });
  });

  it('hides its tools where it wants none called', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }];
    expect(decodeRequest({ model: 'm', messages: [user], tools }).tools).toHaveLength(1);
    expect(decodeRequest({ model: 'm', messages: [user], tools, tool_choice: 'none' }).tools).toEqual([]);
  });

  it.each([
    [{ messages: undefined }, '/messages', 'missing_required_parameter'],
    [{ messages: [] }, '/messages', 'invalid_value'],
    [{ model: 7 }, '/model', 'invalid_value'],
    [{ n: 2 }, '/n', 'unsupported_value'],
    [{ logprobs: true }, '/logprobs', 'unsupported_parameter'],
    [{ functions: [{}] }, '/functions', 'unsupported_parameter'],
    [{ modalities: ['text', 'audio'] }, '/modalities', 'unsupported_parameter'],
    [{ response_format: { type: 'json_schema' } }, '/response_format', 'unsupported_value'],
    [{ stream_options: { include_usage: true } }, '/stream_options', 'invalid_value'],
    [{ tools: [{ type: 'custom', custom: {} }] }, '/tools/0/type', 'invalid_value'],
    [{ messages: [message('user', { content: [{ type: 'video' }] })] }, '/messages/0/content/0/type', 'invalid_value'],
    [{ messages: [message('robot', {})] }, '/messages/0/role', 'invalid_value'],
    [{ messages: [user, asking] }, '/messages', 'invalid_value'],
    [{ messages: [user, asking, user] }, '/messages/2', 'invalid_value'],
    [{ messages: [user, told] }, '/messages/1/tool_call_id', 'invalid_value'],
    [{ metadata: { task_id: 7 } }, '/metadata/task_id', 'invalid_value'],
  ])('%j is refused at its place', (change, path, code) => {
    expect(faultsOf({ model: 'm', messages: [user], ...change })).toContainEqual([path, code]);
  });

  it.each([
    { logprobs: false },
    { top_logprobs: 0 },
    { modalities: ['text'] },
    { functions: [] },
    { function_call: 'none' },
  ])('%j asks for nothing', (change) => {
    expect(faultsOf({ model: 'm', messages: [user], ...change })).toEqual([]);
  });
});

describe('an error', () => {
  it('is never one that clients send again, unless another try could end otherwise', () => {
    const again = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => {
      const { status } = encodeError(new DomainError(code, 'x'), 'task');
      return status === 408 || status === 409 || status === 429 || status >= 500;
    });
    expect(again.sort()).toEqual(['internal', 'rate_limited', 'request_timeout', 'unavailable']);
  });

  it('names the parameter as clients write it, and what is missing by where it was looked for', () => {
    const faults = [{ path: '/messages/1/content', code: 'missing_required_parameter', message: 'is required' }];
    expect(encodeError(new DomainError('invalid_request', 'x', { faults }), 'task').error).toEqual({
      message: 'x',
      type: 'invalid_request_error',
      param: 'messages[1].content',
      code: 'missing_required_parameter',
    });
    const missing = (what: Parameters<typeof encodeError>[1]): unknown => {
      const { code, param } = encodeError(new DomainError('not_found', 'x'), what).error;
      return [code, param];
    };
    expect([missing('model'), missing('task'), missing('url')]).toEqual([
      ['model_not_found', 'model'],
      ['task_not_found', 'metadata.task_id'],
      ['unknown_url', null],
    ]);
  });

  it('of a task tells what ran out of time from what failed', () => {
    const of = (code: string): unknown => encodeFailed({ code, message: 'x' }).status;
    expect(['deadline_exceeded', 'budget_exceeded', 'of-a-runner'].map(of)).toEqual([504, 500, 500]);
  });
});
