import type { Claim, EventId, RunPolicy, TaskId } from '#lib/domain';
import { newEventId, newTaskKey } from '#lib/platform';

export const TEST_POLICY: RunPolicy = {
  onLost: 'resume',
  maxRuns: 3,
  retries: { attempts: 3, firstDelaySeconds: 1, maxDelaySeconds: 30 },
  graceSeconds: 10,
  stallSeconds: 180,
  budgets: {},
  tools: [],
};

/** A claim of a first run, as the store answers it. */
export function createClaim(change: Partial<Claim> = {}): Claim {
  const taskKey = change.taskKey ?? newTaskKey();
  const eventId: EventId = newEventId();
  return {
    taskKey,
    taskId: `t-${taskKey}` as TaskId,
    runNo: 1,
    tenant: 'acme',
    agentId: 'a',
    type: null,
    sessionId: null,
    userId: null,
    createdBy: 'alice',
    runner: 'scripted',
    backendVersion: 'v1',
    options: {},
    policy: TEST_POLICY,
    detail: 'status',
    deadlineAtMs: Date.now() + 3_600_000,
    input: '"hello"',
    context: '{}',
    clientTools: null,
    allowedTools: [],
    inputArtifacts: [],
    checkpoint: null,
    answer: null,
    conversation: null,
    asked: [],
    steps: [],
    artifacts: [],
    workspace: null,
    reason: 'submitted',
    attempt: 1,
    stalled: false,
    event: { seq: 2, eventId, type: 'task.started', atMs: 1_000, payload: '{"run_no":1,"runtime_id":"rt"}' },
    ...change,
  };
}
