/** Scripts of the scripted runner, as the text of a message. */
const text = (...steps: readonly object[]): string => JSON.stringify(steps);
const event = (type: string, payload: object): object => ({ event: { type, payload } });

const call = (id: string, name: string, args: object): object =>
  event('tool.invoked', { tool_call_id: id, tool_name: name, arguments: args });
const done = (id: string, name: string, output: unknown): object =>
  event('tool.completed', { tool_call_id: id, tool_name: name, output });

/** Everything there is: two steps of one name, reasoning, a message, two calls at once, usage, an artifact. */
export const EVERYTHING = text(
  event('step.started', { step_id: 'a', step_name: 'look' }),
  event('step.started', { step_id: 'b', step_name: 'look' }),
  event('thinking.started', { message_id: 'm1' }),
  event('thinking.delta', { message_id: 'm1', text: 'Hm.' }),
  event('thinking.completed', { message_id: 'm1', text: 'Hm.' }),
  event('message.started', { message_id: 'm1', role: 'assistant' }),
  event('message.delta', { message_id: 'm1', text: '' }),
  event('message.delta', { message_id: 'm1', text: 'Hello' }),
  event('tool.arguments.delta', { tool_call_id: 'c1', text: '{"at":' }),
  event('tool.arguments.delta', { tool_call_id: 'c1', text: '"noon"}' }),
  call('c1', 'clock', { at: 'noon' }),
  call('c2', 'map', {}),
  event('message.completed', { message_id: 'm1', role: 'assistant', text: 'Hello' }),
  done('c2', 'map', [{ type: 'text', text: 'here' }]),
  done('c1', 'clock', 'twelve'),
  event('model.usage', { model: 'm', usage: { input_tokens: 3, output_tokens: 4 } }),
  event('model.usage', { model: 'm', usage: { input_tokens: 1, output_tokens: 1 } }),
  { artifact: { name: 'made.txt', text: 'made' } },
  event('step.completed', { step_id: 'a' }),
  event('step.completed', { step_id: 'b' }),
  { result: 'done' },
);

/** Ends in the middle of a message and a step. */
export const BREAKS = text(
  event('step.started', { step_id: 'a', step_name: 'look' }),
  event('message.started', { message_id: 'm1', role: 'assistant' }),
  event('message.delta', { message_id: 'm1', text: 'Hel' }),
  { throw: { kind: 'rejected', effects: 'possible' } },
);

/** Has said something, and goes on for ever. */
export const LASTS = text(
  event('step.started', { step_id: 'a', step_name: 'look' }),
  event('message.started', { message_id: 'm1', role: 'assistant' }),
  event('message.delta', { message_id: 'm1', text: 'Hel' }),
  { wait_ms: 600_000 },
);

const ask = (id: string): object => ({
  tool_call_id: id,
  kind: 'tool_confirmation',
  tool_name: 'summarise',
  arguments: { text: `${id}. Two.` },
});
const decided = (id: string): object => ({
  decided: { name: 'summarise', args: { text: `${id}. Two.` }, id },
});

/** Asks for two calls at once, in the middle of a step. */
export const ASKS_TWICE = text(
  event('step.started', { step_id: 'a', step_name: 'look' }),
  { pause: [ask('one'), ask('two')] },
  decided('one'),
  decided('two'),
  event('step.completed', { step_id: 'a' }),
  { tell: ['answer'] },
);
export const ASKS = text({ pause: [ask('one')] }, decided('one'), { tell: ['answer'] });
export const QUESTION = text(
  { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }] },
  { tell: ['answer'] },
);

/** Calls a tool of the frontend. */
export const FRONTEND = text(
  call('f1', 'pick', { from: 'three' }),
  { pause: [{ tool_call_id: 'f1', kind: 'client_tool', tool_name: 'pick', arguments: { from: 'three' } }] },
  done('f1', 'pick', 'two'),
  { tell: ['answer', 'clientTools'] },
);

export const CONTEXT = text({ tell: ['context', 'attributes', 'clientTools'] });

const of = (source: string, type: string, more: object = {}): object =>
  event('agent.event', { framework: 'agentscope', event: { type, id: 'x', source, ...more } });

/** A sub-agent that says something, calls a tool and ends, then another one that asks for a call to be confirmed. */
export const SUBAGENTS = text(
  of('main/helper', 'AGENT_START', { name: 'helper', replyId: 'r1' }),
  of('main/helper', 'TEXT_BLOCK_START', { replyId: 'r1', blockId: 'b1' }),
  of('main/helper', 'TEXT_BLOCK_DELTA', { replyId: 'r1', blockId: 'b1', delta: 'Hi' }),
  of('main/helper', 'TEXT_BLOCK_END', { replyId: 'r1', blockId: 'b1' }),
  of('main/helper', 'TOOL_CALL_START', { toolCallId: 's1', toolCallName: 'look' }),
  of('main/helper', 'TOOL_CALL_END', { toolCallId: 's1', toolCallName: 'look' }),
  of('main/helper', 'TOOL_RESULT_TEXT_DELTA', { toolCallId: 's1', toolCallName: 'look', delta: 'seen' }),
  of('main/helper', 'TOOL_RESULT_END', { toolCallId: 's1', toolCallName: 'look', state: 'success' }),
  of('main/helper', 'AGENT_END', { replyId: 'r1' }),
  of('main/other', 'AGENT_START', { name: 'other', replyId: 'r2' }),
  of('main/other', 'REQUIRE_USER_CONFIRM', { toolCalls: [{ id: 'one', name: 'summarise' }] }),
  event('agent.event', { framework: 'ag-ui', event: { type: 'STATE_SNAPSHOT', snapshot: { at: 1 } } }),
  event('agent.event', { framework: 'x', event: { type: 'CUSTOM', name: 'mood', value: 'good' } }),
  event('agent.event', { framework: 'x', event: { type: 'SECRET', key: 'hush' } }),
  { pause: [ask('one')] },
  decided('one'),
  { result: 'done' },
);

export const LONG = text(
  { repeat: 200, event: { type: 'message.delta', payload: { message_id: 'm1', text: 'x'.repeat(1000) } } },
  { result: 'x', message_id: 'm1' },
);
