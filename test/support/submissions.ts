import type { EventBody, RunPolicy, Submission, TaskId } from '#lib/domain';
import { Database, PgAgentStore } from '#lib/persistence';
import { newEventId, newTaskKey } from '#lib/platform';
import { TEST_POLICY } from './claims.js';

/** Stores a backend of the scripted runner and answers the id of its version. */
export async function createBackend(databaseUrl: string, policy: Partial<RunPolicy> = {}): Promise<string> {
  const database = new Database({ databaseUrl, max: 1, name: 'test' });
  try {
    const backend = { agentId: 'a', runner: 'scripted', pool: 'scripted', options: {} };
    const version = await new PgAgentStore(database).backendVersion({
      ...backend,
      policy: { ...TEST_POLICY, ...policy },
    });
    return version.id;
  } finally {
    await database.close();
  }
}

/** A task of the scripted runner, as a gateway submits it. */
export function createSubmission(backendVersionId: string, change: Partial<Submission> = {}): Submission {
  const taskKey = newTaskKey();
  const { deadlineAtMs = Date.now() + 3_600_000, detail = 'status', priority = 5 } = change;
  const body = createdBody(backendVersionId, { ...change, deadlineAtMs, detail, priority });
  return {
    taskKey,
    taskId: taskKey as string as TaskId,
    ownTaskId: false,
    bodyHash: Buffer.alloc(32, 1),
    tenant: 'acme',
    principal: 'alice',
    agentId: 'a',
    backendVersionId,
    runner: 'scripted',
    pool: 'scripted',
    detail,
    priority,
    deadlineAtMs,
    input: '"hello"',
    context: '{}',
    created: { eventId: newEventId(), body, json: JSON.stringify(body.payload) },
    audit: {
      tenant: 'acme',
      principal: 'alice',
      keyId: 'k',
      action: 'task.submit',
      target: taskKey,
      outcome: 'allowed',
      details: '{}',
      requestId: 'r',
    },
    ...change,
  };
}

function createdBody(
  version: string,
  { detail, priority, deadlineAtMs, heldUntilMs, sessionId, ...more }: Terms & Partial<Submission>,
): EventBody {
  const { principal = 'alice', agentId = 'a' } = more;
  return {
    type: 'task.created',
    payload: {
      agent_id: agentId,
      ...(sessionId === undefined ? {} : { session_id: sessionId }),
      backend: { runner: 'scripted', version },
      detail,
      priority,
      deadline_at: new Date(deadlineAtMs).toISOString(),
      created_by: principal,
      ...(heldUntilMs === undefined ? {} : { held_until: new Date(heldUntilMs).toISOString() }),
    },
  };
}

type Terms = Pick<Submission, 'detail' | 'priority' | 'deadlineAtMs'>;
