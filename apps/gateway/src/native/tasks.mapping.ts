import { statusOf } from '#lib/domain';
import type { ConfirmationProjection, Page, StepProjection, TaskFilter, TaskSnapshot } from '#lib/domain';
import { decodeMoment } from '../http/times.js';
import type { PendingConfirmAnswer, StepAnswer, StepsAnswer, TaskAnswer, TasksAnswer } from './answer.dto.js';
import type { ListTasksQuery } from './query.dto.js';

export function decodeFilter(query: ListTasksQuery): TaskFilter {
  return {
    states: query.state,
    agentId: query.agent_id,
    type: query.type,
    sessionId: query.session_id,
    errorCode: query.error_code,
    createdAfterMs: decodeMoment(query.created_after, 'query.created_after')?.ms,
    createdBeforeMs: decodeMoment(query.created_before, 'query.created_before')?.ms,
  };
}

export function encodeTask(task: TaskSnapshot): TaskAnswer {
  return {
    task_id: task.taskId,
    session_id: task.sessionId,
    type: task.type,
    agent_id: task.agentId,
    backend: { runner: task.backend.runner, version: task.backend.version },
    state: task.state,
    status: statusOf(task.state),
    run_no: task.runNo,
    last_seq: task.lastSeq,
    // Sequences have no holes, so the last number is the count.
    event_count: task.lastSeq,
    current_step: task.currentStep,
    result: task.result,
    usage: task.usage,
    error: task.error,
    pending_confirms: task.pendingConfirmations.map(encodeConfirmation),
    wait_id: task.waitId,
    waiting_on: task.waitingOn,
    blocked_by: task.blockedBy,
    stalled: task.stalled,
    cancel_requested: task.cancelRequested,
    artifact_count: task.artifactCount,
    last_heartbeat_at: encodeTimeOrNull(task.lastHeartbeatAtMs),
    last_progress_at: encodeTime(task.lastProgressAtMs),
    deadline_at: encodeTime(task.deadlineAtMs),
    held_until: encodeTimeOrNull(task.heldUntilMs),
    priority: task.priority,
    detail: task.detail,
    created_by: task.createdBy,
    created_at: encodeTime(task.createdAtMs),
    started_at: encodeTimeOrNull(task.startedAtMs),
    updated_at: encodeTime(task.updatedAtMs),
    finished_at: encodeTimeOrNull(task.finishedAtMs),
  };
}

/** Weak: what changes without an event (heartbeats) does not change it. */
export function etagOf(task: TaskSnapshot): string {
  return `W/"${task.lastSeq}"`;
}

export function encodeTasks({ items, nextCursor }: Page<TaskSnapshot>): TasksAnswer {
  return { tasks: items.map(encodeTask), next_cursor: nextCursor ?? null };
}

export function encodeSteps({ items, nextCursor }: Page<StepProjection>): StepsAnswer {
  return { steps: items.map(encodeStep), next_cursor: nextCursor ?? null };
}

export function encodeTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function encodeTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : encodeTime(ms);
}

function encodeStep(step: StepProjection): StepAnswer {
  return {
    step_id: step.stepId,
    step_name: step.name,
    state: step.state,
    attempt: step.attempt,
    error: step.error,
    started_at: encodeTime(step.startedAtMs),
    finished_at: encodeTimeOrNull(step.finishedAtMs),
  };
}

function encodeConfirmation(item: ConfirmationProjection): PendingConfirmAnswer {
  const { tool_call_id, kind, tool_name, arguments: args, prompt, digest, expires_at } = item;
  return { tool_call_id, kind, tool_name, arguments: args, prompt, digest, expires_at };
}
