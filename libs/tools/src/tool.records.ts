import { type AuditEntry, canonicalJson, redactFields, redactValue } from '#lib/domain';
import type { ToolDecision } from './tool.gateway.js';

/** Who calls: a run of an agent, acting for the principal that submitted its task. */
export interface ToolActor {
  readonly tenant: string;
  readonly principal: string;
  readonly agentId: string;
  readonly runtimeId: string;
  readonly taskKey: string;
  readonly taskId: string;
  readonly runNo: number;
  /** The backend version the task is pinned to. */
  readonly backendVersion: string;
}

/** What became of a call that went out. `outcome_unknown`: its run ended before it did. */
export interface ToolResult {
  readonly result: 'completed' | 'failed' | 'timed_out' | 'outcome_unknown';
  /** Absent: nobody knows. */
  readonly durationMs?: number;
  readonly code?: string;
}

/** Characters of arguments in a record. */
const SUMMARY_LENGTH = 500;

/** The record of a decision. */
export function decisionRecord(actor: ToolActor, decision: ToolDecision): AuditEntry {
  const { call, digest, policyVersion, tool, outcome } = decision;
  const approval = outcome === 'allowed' ? decision.approval : undefined;
  return record(actor, decision, {
    action: 'tool.call',
    outcome,
    details: {
      ...(outcome === 'denied' ? { code: decision.code } : {}),
      arguments_digest: digest,
      arguments: summarise(call.args, tool?.secretFields ?? ['']),
      policy_version: policyVersion,
      backend_version: actor.backendVersion,
      ...(tool ? { tool_version: tool.version } : {}),
      ...(call.repeats === undefined ? {} : { repeats: call.repeats }),
      ...(approval ? { approval: approval.place, approved_by: approval.approvedBy } : {}),
    },
  });
}

/** A call that went out, or may have. */
export type MadeCall = Pick<ToolDecision, 'call' | 'tool'> & Partial<Pick<ToolDecision, 'digest'>>;

/** The record of what became of a call. */
export function resultRecord(actor: ToolActor, made: MadeCall, { result, durationMs, code }: ToolResult): AuditEntry {
  return record(actor, made, {
    action: 'tool.result',
    outcome: 'allowed',
    details: {
      result,
      ...(code === undefined ? {} : { code }),
      ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
      ...(made.digest === undefined ? {} : { arguments_digest: made.digest }),
    },
  });
}

function record(
  actor: ToolActor,
  { call, tool }: Pick<ToolDecision, 'call' | 'tool'>,
  { action, outcome, details }: Pick<AuditEntry, 'action' | 'outcome'> & { readonly details: object },
): AuditEntry {
  const { tenant, principal, agentId, runtimeId, taskKey, taskId, runNo } = actor;
  return {
    tenant,
    principal,
    // Ids of keys have no colon: what an agent did for somebody is told apart from what they did themselves.
    keyId: `agent:${agentId}`,
    action,
    target: `${tool?.kind ?? 'unknown'}:${call.toolName.slice(0, 64)}`,
    outcome,
    details: JSON.stringify({
      task_id: taskId,
      run_no: runNo,
      runtime_id: runtimeId,
      tool_call_id: call.toolCallId,
      ...details,
    }),
    requestId: `${taskKey}-${runNo}`,
  };
}

/** Arguments as a record may show them: without what is secret, and no more than a glance of them. */
export function summarise(args: unknown, secretFields: readonly string[]): string {
  const text = canonicalJson(redactValue(redactFields(args, secretFields)));
  return text.length > SUMMARY_LENGTH ? `${text.slice(0, SUMMARY_LENGTH)}…` : text;
}
