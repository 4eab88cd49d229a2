import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ConfirmationBody, EventBody, EventId } from '#lib/domain';
import { TaskEventEncoder, type EncoderOptions } from './event.encoder.js';
import { encodeRemoteFrame, type RemoteEvent } from './remote-event.js';

const AT = '2026-01-01T00:00:00.000Z';
const hexOf = (seq: number): string => `0189000000007000${String(seq).padStart(16, '0')}`;

const created = (detail: string): EventBody => ({
  type: 'task.created',
  payload: {
    ...{ agent_id: 'writer', backend: { runner: 'r', version: 'v' }, detail, priority: 5 },
    ...{ deadline_at: AT, created_by: 'ann' },
  },
});
const started: EventBody = { type: 'task.started', payload: { run_no: 1, runtime_id: 'r' } };

/** The wire's events of a log that begins with a run, without those of the beginning. */
function encode(detail: string, bodies: readonly EventBody[], options: EncoderOptions = {}): RemoteEvent[] {
  const encoder = new TaskEventEncoder('t-1', options);
  const log = [created(detail), started, ...bodies];
  return log
    .flatMap((body, index) => {
      const seq = index + 1;
      return encoder.encode({ ...body, seq, eventId: `evt_${hexOf(seq)}` as EventId, timestamp: AT });
    })
    .filter(({ seq }) => seq >= 24);
}

const RUN = hexOf(2);

/** Type, place and what an event says in its payload, or flat where it has none. */
function brief({
  seq,
  type,
  taskId: _t,
  agentId: _a,
  timestamp: _m,
  eventType,
  payload,
  ...flat
}: RemoteEvent): unknown {
  if (payload === undefined) return [seq % 8, type, flat];
  const { type: source, id: _i, createdAt: _c, ...members } = JSON.parse(payload) as Record<string, unknown>;
  expect(source).toBe(eventType);
  return [seq % 8, type, source, members];
}

const CALL = { tool_call_id: 'c1', tool_name: 'bash' };
const NAMES = { replyId: RUN, toolCallId: 'c1', toolCallName: 'bash' };
const ITEM: ConfirmationBody = {
  ...{ tool_call_id: 'c1', kind: 'tool_confirmation', tool_name: 'bash', arguments: { cmd: 'ls' } },
  ...{ digest: 'd', expires_at: AT },
};
const waiting = (...confirmations: ConfirmationBody[]): EventBody[] => [
  { type: 'agent.request_confirmation', payload: { wait_id: 'w', confirmations } },
  { type: 'task.waiting_for_input', payload: { wait_id: 'w', confirmations, expires_at: AT } },
];
const USE = { type: 'tool_use', id: 'c1', name: 'bash', input: { cmd: 'ls' }, content: '{"cmd":"ls"}', metadata: {} };

describe('the events of a task', () => {
  it('carry the payload as a text, an id of their own each, and nothing that is null', () => {
    const events = encode('verbose', [{ type: 'tool.invoked', payload: { ...CALL, arguments: { cmd: 'ls' } } }]);
    const ids = events.map(({ payload }) => (JSON.parse(payload!) as { id: string }).id);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(encodeRemoteFrame(events[0]!)).toBe(
      'id:24\nevent:TOOL_CALL_START\ndata:{"seq":24,"type":"TOOL_CALL_START","taskId":"t-1","agentId":"writer",' +
        `"timestamp":"${AT}","toolCallId":"c1","toolName":"bash","eventType":"TOOL_CALL_START","payload":` +
        `${JSON.stringify(JSON.stringify({ type: 'TOOL_CALL_START', id: hexOf(3), createdAt: AT, ...NAMES }))}}\n\n`,
    );
  });

  it('tell a message as it grows, or whole where nothing was told before', () => {
    const message = { message_id: 'm1', role: 'assistant' };
    const block = { replyId: RUN, blockId: 'm1' };
    const grown: EventBody[] = [
      { type: 'message.started', payload: message },
      { type: 'message.delta', payload: { message_id: 'm1', text: 'Hi' } },
      { type: 'message.completed', payload: { ...message, text: 'Hi' } },
    ];
    expect(encode('full', grown).map(brief)).toEqual([
      [1, 'TEXT_DELTA', 'TEXT_BLOCK_DELTA', { ...block, delta: 'Hi' }],
    ]);
    expect(encode('verbose', grown).map(brief)).toEqual([
      [0, 'AGENT_EVENT', 'TEXT_BLOCK_START', block],
      [1, 'TEXT_DELTA', 'TEXT_BLOCK_DELTA', { ...block, delta: 'Hi' }],
      [2, 'AGENT_EVENT', 'TEXT_BLOCK_END', block],
    ]);
    expect(encode('verbose', grown.slice(2)).map(brief)).toEqual([
      [0, 'AGENT_EVENT', 'TEXT_BLOCK_START', block],
      [1, 'TEXT_DELTA', 'TEXT_BLOCK_DELTA', { ...block, delta: 'Hi' }],
      [2, 'AGENT_EVENT', 'TEXT_BLOCK_END', block],
    ]);
    // Without its beginning it begins with what comes first.
    expect(encode('verbose', grown.slice(1)).map(({ eventType }) => eventType)).toEqual([
      ...['TEXT_BLOCK_START', 'TEXT_BLOCK_DELTA', 'TEXT_BLOCK_END'],
    ]);
    expect(encode('status', grown)).toEqual([]);
  });

  it('tell thoughts like messages, and nothing that others have said', () => {
    const thought: EventBody[] = [
      { type: 'thinking.started', payload: { message_id: 'm1' } },
      { type: 'thinking.completed', payload: { message_id: 'm1', text: 'Hm' } },
      { type: 'message.started', payload: { message_id: 'm1', role: 'user' } },
      { type: 'message.delta', payload: { message_id: 'm1', text: 'You' } },
      { type: 'message.completed', payload: { message_id: 'm1', role: 'user', text: 'You' } },
      { type: 'message.completed', payload: { message_id: 'm2', role: 'tool', text: 'It' } },
    ];
    const members = { replyId: RUN, blockId: 'm1', delta: 'Hm' };
    expect(encode('full', thought).map(brief)).toEqual([[1, 'THINKING_DELTA', 'THINKING_BLOCK_DELTA', members]]);
  });

  it('tell a call whole when it goes out, then its output once, then how it ended', () => {
    const invoked: EventBody = { type: 'tool.invoked', payload: { ...CALL, arguments: { cmd: 'ls' } } };
    const completed: EventBody = { type: 'tool.completed', payload: { ...CALL, output: { lines: 2 } } };
    const before = [
      [0, 'TOOL_CALL_START', 'TOOL_CALL_START', NAMES],
      [1, 'AGENT_EVENT', 'TOOL_CALL_DELTA', { ...NAMES, delta: '{"cmd":"ls"}' }],
      [2, 'TOOL_CALL_END', 'TOOL_CALL_END', NAMES],
      [3, 'AGENT_EVENT', 'TOOL_RESULT_START', NAMES],
    ];
    const end = [5, 'TOOL_RESULT', 'TOOL_RESULT_END', { ...NAMES, state: 'success' }];
    expect(encode('verbose', [invoked, completed]).map(brief)).toEqual([
      ...before,
      [4, 'AGENT_EVENT', 'TOOL_RESULT_TEXT_DELTA', { ...NAMES, delta: '{"lines":2}' }],
      end,
    ]);
    const grown: EventBody = { type: 'tool.output.delta', payload: { tool_call_id: 'c1', text: 'a' } };
    expect(encode('verbose', [invoked, grown, completed]).map(brief)).toEqual([
      ...before,
      [0, 'AGENT_EVENT', 'TOOL_RESULT_TEXT_DELTA', { ...NAMES, delta: 'a' }],
      end,
    ]);
    expect(encode('status', [invoked, grown, completed]).map(({ type, status }) => [type, status])).toEqual([
      ['TOOL_CALL_START', undefined],
      ['TOOL_CALL_END', undefined],
      ['TOOL_RESULT', 'SUCCESS'],
    ]);
  });

  it('tell a call that was never made as one that was written, and how it ended', () => {
    const denied: EventBody = { type: 'tool.denied', payload: { ...CALL, reason: 'no' } };
    const failed: EventBody = { type: 'tool.failed', payload: { ...CALL, error: { code: 'x', message: 'broke' } } };
    const shown = (bodies: EventBody[]): unknown => encode('status', bodies).map(({ type, status }) => [type, status]);
    const call = [
      ['TOOL_CALL_START', undefined],
      ['TOOL_CALL_END', undefined],
    ];
    expect(shown([denied])).toEqual([...call, ['TOOL_RESULT', 'DENIED']]);
    expect(shown([{ type: 'tool.invoked', payload: CALL }, denied])).toEqual([...call, ['TOOL_RESULT', 'DENIED']]);
    expect(shown([failed])).toEqual([['TOOL_RESULT', 'ERROR']]);
  });

  it('ask by two events in the same words, and end the run between them', () => {
    const pendingConfirms = [{ toolCallId: 'c1', toolName: 'bash', toolInputJson: '{"cmd":"ls"}' }];
    const toolCalls = [{ ...USE, state: 'asking' }];
    const events = encode('verbose', waiting(ITEM));
    expect(events.map(brief)).toEqual([
      [0, 'REQUIRE_CONFIRM', 'REQUIRE_USER_CONFIRM', { replyId: RUN, toolCalls }],
      [0, 'AGENT_EVENT', 'REQUEST_STOP', { generateReason: 'PERMISSION_ASKING' }],
      [
        1,
        'AGENT_EVENT',
        'AGENT_RESULT',
        { result: expect.objectContaining({ role: 'ASSISTANT', content: toolCalls }) },
      ],
      [2, 'RUN_FINISHED', 'AGENT_END', { replyId: RUN }],
      [3, 'REQUIRE_CONFIRM', { pendingConfirms, status: 'awaiting_confirm' }],
    ]);
    expect(events[0]).toMatchObject({ pendingConfirms });
    expect(events[0]!.status).toBeUndefined();
    expect(encode('status', waiting(ITEM), { hidesConfirms: true }).map(({ type }) => type)).toEqual(['RUN_FINISHED']);
  });

  it('show a question as a call of a tool of that name, and arguments that are no object as such', () => {
    const { tool_name: _n, arguments: _a, ...rest } = ITEM;
    const question = { ...rest, kind: 'question', prompt: 'Which?' } as const;
    const odd = { ...ITEM, arguments: ['a'] };
    const [first] = encode('status', waiting(question, odd));
    expect(first!.pendingConfirms).toEqual([
      { toolCallId: 'c1', toolName: 'question', toolInputJson: '{"prompt":"Which?"}' },
      { toolCallId: 'c1', toolName: 'bash', toolInputJson: '["a"]' },
    ]);
    const { toolCalls } = JSON.parse(first!.payload!) as { toolCalls: object[] };
    expect(toolCalls).toMatchObject([{ input: { prompt: 'Which?' } }, { input: { raw: ['a'] }, content: '["a"]' }]);
  });

  it('begin anew with each run: what a lost one has left open is told again', () => {
    const retrying: EventBody = { type: 'task.retrying', payload: { run_no: 2, runtime_id: 'r', reason: 'lost' } };
    const events = encode('full', [
      { type: 'message.delta', payload: { message_id: 'm1', text: 'He' } },
      { type: 'tool.invoked', payload: CALL },
      retrying,
      { type: 'message.completed', payload: { message_id: 'm1', role: 'assistant', text: 'Hello' } },
      { type: 'tool.denied', payload: { ...CALL, reason: 'no' } },
    ]);
    expect(events.map(({ type, text = '' }) => `${type} ${text}`.trim())).toEqual([
      ...['TEXT_DELTA He', 'TOOL_CALL_START', 'TOOL_CALL_END'],
      ...['RUN_STARTED', 'TEXT_DELTA Hello', 'TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_RESULT'],
    ]);
  });

  it('forget the oldest of a thousand calls that nobody ends', () => {
    const open = Array.from({ length: 1_001 }, (_, n): EventBody => {
      return { type: 'tool.invoked', payload: { tool_call_id: `c${n}`, tool_name: 'bash' } };
    });
    const denied = ['c1', 'c0'].map((tool_call_id): EventBody => {
      return { type: 'tool.denied', payload: { tool_call_id, tool_name: 'bash', reason: 'no' } };
    });
    const told = encode('status', [...open, ...denied]).slice(2 * open.length);
    expect(told.map(({ type, toolCallId }) => `${type} ${toolCallId}`)).toEqual([
      ...['TOOL_RESULT c1', 'TOOL_CALL_START c0', 'TOOL_CALL_END c0', 'TOOL_RESULT c0'],
    ]);
  });

  it('tell what was decided when the run goes on with it, in a reply of its own', () => {
    const decisions = [{ tool_call_id: 'c1', approved: true, edited_args: { cmd: 'pwd' } }];
    const resumed: EventBody = { type: 'task.resumed', payload: { wait_id: 'w', decided_by: 'bob', decisions } };
    const replyId = hexOf(6);
    expect(
      encode('verbose', [...waiting(ITEM), resumed, started])
        .slice(5)
        .map(brief),
    ).toEqual([
      [0, 'RUN_STARTED', 'AGENT_START', { sessionId: 't-1', replyId, name: 'writer', role: 'assistant' }],
      [
        1,
        'AGENT_EVENT',
        'USER_CONFIRM_RESULT',
        {
          replyId,
          confirmResults: [
            {
              confirmed: true,
              toolCall: { ...USE, input: { cmd: 'pwd' }, content: '{"cmd":"pwd"}', state: 'allowed' },
            },
          ],
        },
      ],
    ]);
    const retrying: EventBody = { type: 'task.retrying', payload: { run_no: 2, runtime_id: 'r', reason: 'lost' } };
    expect(encode('verbose', [...waiting(ITEM), resumed, started, retrying]).at(-1)?.type).toBe('RUN_STARTED');
  });

  it.each<[EventBody, unknown[]]>([
    [
      { type: 'task.succeeded', payload: { result: { text: 'Hi', metadata: {} } } },
      [
        [1, 'RUN_FINISHED', 'AGENT_END', { replyId: RUN }],
        [2, 'STATUS', { status: 'success' }],
      ],
    ],
    [
      { type: 'task.failed', payload: { error: { code: 'timeout', message: 'Too slow.' } } },
      [[0, 'RUN_ERROR', { status: 'error', error: 'timeout: Too slow.' }]],
    ],
    [{ type: 'task.cancelled', payload: { forced: false } }, [[0, 'STATUS', { status: 'cancelled' }]]],
  ])('end in one way each: %#', (body, expected) => {
    expect(encode('status', [body]).map(brief)).toEqual(expected);
  });

  it('have a custom one for whatever AgentScope has no word for, and usage in its own', () => {
    const step = { step_id: 's1', step_name: 'plan' };
    const usage = { input_tokens: 3, output_tokens: 4 };
    expect(
      encode('verbose', [
        { type: 'step.started', payload: step },
        { type: 'model.usage', payload: { model: 'm', usage } },
        { type: 'tool.arguments.delta', payload: { tool_call_id: 'c1', text: '{' } },
      ]).map(brief),
    ).toEqual([
      [0, 'AGENT_EVENT', 'CUSTOM', { name: 'step.started', value: step }],
      [
        0,
        'AGENT_EVENT',
        'MODEL_CALL_END',
        { replyId: RUN, usage: { inputTokens: 3, outputTokens: 4, cachedTokens: 0, time: 0, totalTokens: 7 } },
      ],
    ]);
    expect(encode('full', [{ type: 'step.started', payload: step }])).toEqual([]);
  });

  it('are numbered upwards without a repeat, and heartbeats are none of them', () => {
    const bodies: EventBody[] = [
      started,
      { type: 'tool.invoked', payload: { ...CALL, arguments: 1 } },
      { type: 'tool.denied', payload: { ...CALL, reason: 'no' } },
      { type: 'tool.completed', payload: { ...CALL, output: 1 } },
      { type: 'message.completed', payload: { message_id: 'm', role: 'assistant', text: 'x' } },
      { type: 'task.succeeded', payload: { result: { text: 'Hi', metadata: {} } } },
      ...waiting(ITEM),
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bodies)), fc.constantFrom('status', 'full', 'verbose'), (log, detail) => {
        const numbers = encode(detail, log).map(({ seq }) => seq);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      }),
    );
    const beat = { type: 'heartbeat', payload: { run_no: 1 }, seq: 0, timestamp: AT } as const;
    expect(new TaskEventEncoder('t-1').encode(beat)).toEqual([]);
  });
});
