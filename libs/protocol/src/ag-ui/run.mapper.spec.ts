import { EventType as Wire } from '@ag-ui/core';
import { EventSchemas } from '@ag-ui/core/schemas';
import {
  type BaseEvent,
  enforceEvents,
  parseSSEStream,
  runHttpRequest,
  transformChunks,
  verifyEvents,
} from '@ag-ui/client';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EVENTS } from '#lib/domain';
import type { EventBody, EventId, LoggedEvent, TaskId } from '#lib/domain';
import type { AgUiEvent, AgUiExtensions, Profile, ViewOptions } from './contract.js';
import { RunMapper } from './run.mapper.js';

const ALL: ViewOptions = {
  reasoning: true,
  toolCallArgs: true,
  tokenUsage: true,
  stateEvents: true,
  nativeSubagents: true,
  raw: true,
};

/** Whatever bodies come, as a log: numbered, timed. */
function logOf(bodies: readonly { readonly type: string; readonly payload: object }[]): LoggedEvent[] {
  const timestamp = '2026-01-01T00:00:00.000Z';
  return bodies.map((body, index) => {
    const eventId = `evt_${index}` as EventId;
    return { ...(body as EventBody), seq: index + 1, eventId, timestamp };
  });
}

function mapped(log: readonly LoggedEvent[], profile: Profile, extensions?: AgUiExtensions): AgUiEvent[] {
  const run = { threadId: 't', runId: 'r', taskId: 'task' as TaskId, profile };
  const mapper = new RunMapper(run, ALL, extensions);
  return log.flatMap((event) => [...mapper.take(event)]);
}

/** What the official client's verifier lets through; rejects with what it refuses. */
function verify(events: readonly AgUiEvent[]): Promise<BaseEvent[]> {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return new Promise((resolve, reject) => {
    const seen: BaseEvent[] = [];
    parseSSEStream(runHttpRequest(() => Promise.resolve(new Response(text))))
      .pipe(enforceEvents(), transformChunks(), verifyEvents())
      .subscribe({ next: (event) => void seen.push(event), error: reject, complete: () => resolve(seen) });
  });
}

const id = fc.constantFrom('a', 'b', 'c');
const text = fc.constantFrom('', 'x', 'yes');
const body = (
  type: keyof typeof EVENTS,
  payload: fc.Arbitrary<object>,
): fc.Arbitrary<{ type: string; payload: object }> => payload.map((made) => ({ type, payload: made }));
const call = { tool_call_id: id, tool_name: fc.constantFrom('', 'look') };
const error = fc.constant({ code: 'internal', message: 'no' });
const agentEvent = fc.record({
  type: fc.constantFrom(
    ...['AGENT_START', 'AGENT_END', 'TEXT_BLOCK_DELTA', 'TEXT_BLOCK_END', 'THINKING_BLOCK_DELTA', 'THINKING_BLOCK_END'],
    ...['TOOL_CALL_START', 'TOOL_CALL_DELTA', 'TOOL_CALL_END', 'TOOL_RESULT_TEXT_DELTA', 'TOOL_RESULT_END', 'CUSTOM'],
    ...['REQUIRE_USER_CONFIRM', 'STATE_SNAPSHOT', 'constructor'],
  ),
  source: fc.constantFrom(undefined, '', 'main/a', 'main/b'),
  blockId: id,
  toolCallId: id,
  toolCallName: text,
  delta: text,
  name: text,
  toolCalls: fc.constant([{ id: 'a' }]),
});
const middle = fc.oneof(
  body('message.started', fc.record({ message_id: id, role: fc.constantFrom('assistant', 'user', 'robot') })),
  body('message.delta', fc.record({ message_id: id, text })),
  body('message.completed', fc.record({ message_id: id, role: fc.constant('assistant'), text })),
  body('thinking.delta', fc.record({ message_id: id, text })),
  body('thinking.completed', fc.record({ message_id: id }, { requiredKeys: ['message_id'] })),
  body('tool.arguments.delta', fc.record({ tool_call_id: id, text })),
  body('tool.invoked', fc.record({ ...call, arguments: fc.constantFrom(undefined, {}, { at: 1 }) })),
  body('tool.completed', fc.record({ ...call, output: fc.constantFrom(undefined, null, 'x', [1]) })),
  body('tool.failed', fc.record({ ...call, error })),
  body('tool.denied', fc.record({ ...call, reason: text })),
  body('step.started', fc.record({ step_id: id, step_name: fc.constantFrom('s', 's#2') })),
  body('step.completed', fc.record({ step_id: id })),
  body('step.retrying', fc.record({ step_id: id, attempt: fc.constant(2) })),
  body('task.retrying', fc.constant({ run_no: 2, runtime_id: 'r', reason: 'lost' })),
  body('model.usage', fc.constant({ model: 'm', usage: { input_tokens: 1, output_tokens: 2 } })),
  body('agent.event', fc.record({ framework: fc.constantFrom('ag-ui', 'agentscope'), event: agentEvent })),
);
const confirmation = fc.record({
  tool_call_id: id,
  kind: fc.constantFrom('tool_confirmation', 'question', 'client_tool', 'authorization'),
  tool_name: fc.constant('look'),
  arguments: fc.constant({ at: 1 }),
  digest: fc.constant('d'),
  expires_at: fc.constant('2026-01-02T00:00:00.000Z'),
});
const end = fc.oneof(
  body('task.succeeded', fc.constant({ result: { text: 'done', metadata: {} } })),
  body('task.failed', fc.record({ error })),
  body('task.cancelled', fc.record({ forced: fc.boolean(), reason: fc.constantFrom(undefined, 'run_timeout') })),
  body(
    'task.waiting_for_input',
    fc.record({ wait_id: fc.constant('w'), confirmations: fc.array(confirmation, { minLength: 1, maxLength: 3 }) }),
  ),
);
const begin = fc.oneof(
  body('task.created', fc.constant({})),
  body(
    'task.resumed',
    fc.constant({
      wait_id: 'w',
      decisions: [
        { tool_call_id: 'a', approved: true },
        { tool_call_id: 'b', output: 1 },
      ],
    }),
  ),
);
const logs = fc
  .tuple(begin, fc.array(middle, { maxLength: 30 }), end)
  .map(([first, more, last]) => logOf([first, ...more, last]));

/** Says anything at any time. */
const nonsense: fc.Arbitrary<AgUiEvent[]> = fc
  .array(
    fc.oneof(
      fc.record({
        type: fc.constantFrom(Wire.TEXT_MESSAGE_START, Wire.TEXT_MESSAGE_END, Wire.REASONING_START, Wire.REASONING_END),
        messageId: id,
        subagentRunId: fc.constantFrom(undefined, 'main/a#1', 'z'),
      }),
      fc.record({ type: fc.constant(Wire.TEXT_MESSAGE_CONTENT), messageId: id, delta: text }),
      fc.record({ type: fc.constant(Wire.TEXT_MESSAGE_CHUNK), messageId: id, delta: text }),
      fc.record({
        type: fc.constant(Wire.TOOL_CALL_START),
        toolCallId: id,
        toolCallName: id,
        parentMessageId: fc.constantFrom(undefined, 'a', 'b'),
      }),
      fc.record({
        type: fc.constantFrom(Wire.STEP_STARTED, Wire.STEP_FINISHED),
        stepName: id,
        subagentRunId: fc.constantFrom(undefined, 'z'),
      }),
      fc.record({
        type: fc.constant(Wire.SUBAGENT_STARTED),
        subagentRunId: id,
        name: id,
        parentSubagentRunId: fc.constantFrom(undefined, 'a', 'z'),
      }),
      fc.record({ type: fc.constant(Wire.SUBAGENT_FINISHED), subagentRunId: id }),
      fc.record({ type: fc.constant(Wire.SUBAGENT_ERROR), subagentRunId: id, message: id }),
      fc.record({ type: fc.constant(Wire.TOOL_CALL_RESULT), messageId: id, toolCallId: id, content: text }),
      fc.record({ type: fc.constantFrom(Wire.RUN_STARTED, Wire.RUN_FINISHED), threadId: id, runId: id }),
      fc.record({ type: fc.constant('NOTHING') }),
    ) as unknown as fc.Arbitrary<AgUiEvent>,
    { maxLength: 4 },
  )
  .map((events) => events.map((event) => JSON.parse(JSON.stringify(event)) as AgUiEvent));

const TERMINAL: readonly string[] = [Wire.RUN_FINISHED, Wire.RUN_ERROR];

async function isRun(events: readonly AgUiEvent[]): Promise<void> {
  expect(events[0]?.type).toBe(Wire.RUN_STARTED);
  expect(events.filter(({ type }) => TERMINAL.includes(type))).toHaveLength(1);
  expect(TERMINAL).toContain(events.at(-1)?.type);
  expect(events.filter((event) => !EventSchemas.safeParse(event).success)).toEqual([]);
  expect(await verify(events)).toHaveLength(events.length);
}

describe('a run of AG-UI', () => {
  it('is one its consumers verify, whatever a log holds', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.constantFrom<Profile>('full', 'legacy'), async (log, profile) => {
        const events = mapped(log, profile);
        await isRun(events);
        const isRefused = /SUBAGENT_|pendingToolCallIds|"cancelled"}/.test(JSON.stringify(events));
        expect(profile === 'legacy' && isRefused).toBe(false);
      }),
    );
  });

  it('is one its consumers verify, whatever extensions make of it', async () => {
    await fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(nonsense, { minLength: 1, maxLength: 5 }),
        fc.nat(3),
        async (log, said, drops) => {
          let turn = 0;
          const extensions: AgUiExtensions = {
            converters: [
              {
                eventTypes: ['message.delta', 'step.started', 'task.succeeded'],
                convert: () => said[turn++ % said.length]!,
              },
            ],
            enrichers: [
              (_source, events) => events.filter((_event, place) => drops === 0 || place % (drops + 1) !== 0),
              (_source, events) => [...said[turn++ % said.length]!, ...events],
            ],
          };
          await isRun(mapped(log, 'full', extensions));
        },
      ),
    );
  });

  it('ends for its consumer when an extension throws, and shows nothing of what it was to change', () => {
    const faults: unknown[] = [];
    const fail = (): never => {
      throw new Error('bug');
    };
    const run = { threadId: 't', runId: 'r', taskId: 'task' as TaskId, profile: 'full' } as const;
    const mapper = new RunMapper(run, ALL, { enrichers: [fail] }, (error) => void faults.push(error));
    const log = logOf([
      { type: 'task.created', payload: {} },
      { type: 'task.succeeded', payload: { result: { text: 'hush', metadata: {} } } },
    ]);
    const events = log.flatMap((event) => mapper.take(event));
    expect(events).toMatchObject([{ type: Wire.RUN_STARTED }, { type: Wire.RUN_ERROR, code: 'INTERNAL_ERROR' }]);
    expect([faults.length, mapper.isOver]).toEqual([1, true]);
  });

  it('shows the calls of a pause once, and no results that its consumer has given', () => {
    const asked = [
      {
        tool_call_id: 'a',
        kind: 'tool_confirmation',
        tool_name: 'look',
        arguments: { at: 1 },
        digest: '',
        expires_at: 'x',
      },
      { tool_call_id: 'b', kind: 'client_tool', tool_name: 'pick', arguments: {}, digest: '', expires_at: 'x' },
    ];
    const before = mapped(
      logOf([
        { type: 'task.created', payload: {} },
        { type: 'tool.invoked', payload: { tool_call_id: 'b', tool_name: 'pick', arguments: {} } },
        { type: 'agent.request_confirmation', payload: { wait_id: 'w', confirmations: asked } },
        { type: 'task.waiting_for_input', payload: { wait_id: 'w', confirmations: asked } },
      ]),
      'full',
    );
    expect(before.filter(({ type }) => type === Wire.TOOL_CALL_START)).toMatchObject([
      { toolCallId: 'b' },
      { toolCallId: 'a' },
    ]);
    expect(before.at(-1)).toMatchObject({
      outcome: { type: 'interrupt', interrupts: [{ id: 'w:a', toolCallId: 'a' }] },
    });
    const decisions = [
      { tool_call_id: 'a', approved: true },
      { tool_call_id: 'b', output: 'two' },
    ];
    const after = mapped(
      logOf([
        { type: 'task.resumed', payload: { wait_id: 'w', decisions } },
        { type: 'tool.completed', payload: { tool_call_id: 'b', tool_name: 'pick', output: 'two' } },
        { type: 'tool.invoked', payload: { tool_call_id: 'a', tool_name: 'look', arguments: { at: 2 } } },
        { type: 'tool.completed', payload: { tool_call_id: 'a', tool_name: 'look', output: { seen: true } } },
        { type: 'task.succeeded', payload: { result: { text: '', metadata: {} } } },
      ]),
      'full',
    );
    expect(after.map(({ type }) => type)).toEqual([Wire.RUN_STARTED, Wire.TOOL_CALL_RESULT, Wire.RUN_FINISHED]);
    expect(after[1]).toMatchObject({ toolCallId: 'a', content: '{"seen":true}', messageId: 'evt_3' });
  });
});
