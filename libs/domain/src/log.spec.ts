import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EventBody, EventType } from './event-table.js';
import { EVENTS } from './event-table.js';
import { foldEvents } from './patch.js';
import { applyPatch, type Projection } from './projection.js';
import { isTerminal, type StepState, type TaskState, TASK_STATES } from './state.js';
import { isStepEvent, statesBefore, stepTransition, transition } from './transition.js';

const error = { code: 'c', message: 'm' };
const confirmation = {
  tool_call_id: 'c1',
  kind: 'question',
  digest: 'd',
  expires_at: '2026-01-02T00:00:00.000Z',
} as const;

const stepId = fc.constantFrom('a', 'b', 'c');
const created: EventBody = {
  type: 'task.created',
  payload: {
    agent_id: 'agent',
    backend: { runner: 'r', version: 'v' },
    detail: 'status',
    priority: 5,
    deadline_at: '2026-01-02T00:00:00.000Z',
    created_by: 'alice',
  },
};

const body: fc.Arbitrary<EventBody> = fc.oneof(
  fc.constant(created),
  fc.nat(9).map((run_no): EventBody => ({ type: 'task.started', payload: { run_no, runtime_id: 'rt' } })),
  fc
    .nat(9)
    .map((run_no): EventBody => ({ type: 'task.retrying', payload: { run_no, runtime_id: 'rt', reason: 'lost' } })),
  fc.constantFrom('w1', 'w2').map((wait_id): EventBody => ({
    type: 'task.waiting_for_input',
    payload: { wait_id, confirmations: [confirmation], expires_at: confirmation.expires_at },
  })),
  fc.constant<EventBody>({ type: 'task.resumed', payload: { wait_id: 'w1', decided_by: 'bob', decisions: [] } }),
  fc.constantFrom<EventBody>(
    { type: 'task.stalled', payload: { reason: 'no_progress', waiting_on: 'tool' } },
    { type: 'task.recovered', payload: {} },
    { type: 'task.released', payload: {} },
    { type: 'task.cancel_requested', payload: { requested_by: 'bob' } },
    { type: 'task.cancelled', payload: { forced: false } },
    {
      type: 'task.succeeded',
      payload: { result: { text: 't', metadata: {} }, usage: { input_tokens: 1, output_tokens: 2 } },
    },
    { type: 'task.failed', payload: { error } },
  ),
  stepId.map((step_id): EventBody => ({ type: 'step.started', payload: { step_id, step_name: `Step ${step_id}` } })),
  stepId.map((step_id): EventBody => ({ type: 'step.completed', payload: { step_id } })),
  stepId.map((step_id): EventBody => ({ type: 'step.failed', payload: { step_id, error } })),
  fc
    .tuple(stepId, fc.nat(5))
    .map(([step_id, attempt]): EventBody => ({ type: 'step.retrying', payload: { step_id, attempt } })),
  stepId.map((step_id): EventBody => ({ type: 'step.cancelled', payload: { step_id } })),
  fc.constantFrom<EventBody>(
    { type: 'tool.invoked', payload: { tool_call_id: 'c', tool_name: 'search' } },
    { type: 'tool.completed', payload: { tool_call_id: 'c', tool_name: 'search' } },
    { type: 'tool.failed', payload: { tool_call_id: 'c', tool_name: 'search', error } },
  ),
  fc.nat(99).map((n): EventBody => ({
    type: 'artifact.created',
    payload: {
      artifact: {
        artifact_id: `art_${n}`,
        kind: 'produced',
        name: 'n',
        media_type: 'text/plain',
        size: n,
        sha256: 'x',
      },
    },
  })),
);

/** The events of a random sequence that the state machines let through, in order: a legal log. */
function legal(events: readonly EventBody[]): EventBody[] {
  let state: TaskState | undefined;
  const steps = new Map<string, StepState>();
  return [created, ...events].filter((event) => {
    try {
      const next = transition(state, event.type);
      if (isStepEvent(event.type)) {
        const { step_id } = event.payload as { step_id: string };
        steps.set(step_id, stepTransition(steps.get(step_id), event.type));
      }
      if (event.type === 'task.retrying' || isTerminal(next)) {
        for (const [id, step] of steps) if (step === 'running') steps.set(id, 'failed');
      }
      state = next;
      return true;
    } catch {
      return false;
    }
  });
}

/** Applies a log in batches of these sizes; every event of a batch carries the same time, as in the database. */
function project(
  log: readonly EventBody[],
  sizes: readonly number[],
  timeOf: (index: number) => number,
): Projection | undefined {
  let projection: Projection | undefined;
  let seq = 0;
  for (const size of sizes) {
    const batch = log.slice(seq, seq + size);
    if (batch.length === 0) break;
    seq += batch.length;
    projection = applyPatch(projection, foldEvents(batch), { lastSeq: seq, atMs: timeOf(seq) });
  }
  return projection;
}

describe('the log of a task', () => {
  it('never leaves the known states, and a terminal state never changes', () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 60 }), (events) => {
        let state: TaskState | undefined;
        for (const event of [created, ...events]) {
          const before: TaskState | undefined = state;
          try {
            state = transition(state, event.type);
          } catch {
            continue;
          }
          expect(TASK_STATES).toContain(state);
          expect(before !== undefined && isTerminal(before)).toBe(false);
        }
      }),
    );
  });

  it('projects to the same rows whether it is applied event by event or in batches', () => {
    fc.assert(
      fc.property(
        fc.array(body, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 60 }),
        (events, cuts) => {
          const log = legal(events);
          const sizes = [...cuts, log.length];
          // One time for all: batches share their time, which single events cannot know.
          const batched = project(log, sizes, () => 1000);
          const single = project(
            log,
            log.map(() => 1),
            () => 1000,
          );
          expect(batched).toEqual(single);
        },
      ),
    );
  });

  it('projects a retried step alike whether its start is in the same batch or not', () => {
    const log: EventBody[] = [
      created,
      { type: 'task.started', payload: { run_no: 1, runtime_id: 'rt' } },
      { type: 'step.started', payload: { step_id: 'a', step_name: 'A' } },
      { type: 'step.retrying', payload: { step_id: 'a', attempt: 5 } },
      { type: 'step.retrying', payload: { step_id: 'a', attempt: 2 } },
    ];
    const batched = project(log, [5], () => 5);
    expect(batched).toEqual(project(log, [3, 1, 1], () => 5));
    expect(batched?.steps.get('a')).toMatchObject({ name: 'A', attempt: 5 });
  });

  it('projects a batch like its events, also when a run is lost within it', () => {
    const log: EventBody[] = [
      created,
      { type: 'task.started', payload: { run_no: 1, runtime_id: 'rt' } },
      { type: 'step.started', payload: { step_id: 'a', step_name: 'A' } },
      { type: 'task.retrying', payload: { run_no: 2, runtime_id: 'rt', reason: 'lost' } },
    ];
    const failed: EventBody = { type: 'task.failed', payload: { error } };
    expect(project([...log, failed], [3, 2], () => 5)).toEqual(project([...log, failed], [3, 1, 1], () => 5));
    const steps = project(log, [4], () => 5)?.steps;
    expect(steps?.get('a')).toMatchObject({ state: 'failed', error: { code: 'lost' }, finishedAtMs: 5 });
  });
});

describe('the transition table', () => {
  it('lets only task.created begin a task', () => {
    const types = Object.keys(EVENTS) as EventType[];
    const beginnings = types.filter((type) => {
      try {
        return transition(undefined, type) === 'queued';
      } catch {
        return false;
      }
    });
    expect(beginnings).toEqual(['task.created']);
  });

  it('lets nothing follow a terminal state', () => {
    const types = Object.keys(EVENTS) as EventType[];
    const terminal = TASK_STATES.filter(isTerminal);
    const allowed = types.filter((type) => statesBefore(type).some((state) => terminal.includes(state)));
    expect(allowed).toEqual([]);
  });
});
