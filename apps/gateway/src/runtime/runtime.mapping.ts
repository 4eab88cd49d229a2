import { DomainError, type MintedToken } from '#lib/domain';
import type { OutsideCallRequest } from '../core/tool-calls.service.js';
import type { LiveGrant } from '../core/task-token.authenticator.js';
import type { IntrospectionAnswer, InvokeBody, RenewedAnswer } from './runtime.dto.js';

/** RFC 7662, 2.2. */
export function encodeIntrospection(grant: LiveGrant | undefined): IntrospectionAnswer {
  if (!grant) return { active: false };
  const { principal, agentId, runtimeId, sessionId, tenant, tools } = grant;
  return {
    active: true,
    scope: grant.scopes.join(' '),
    token_type: 'Bearer',
    exp: Math.floor(grant.expiresAtMs / 1_000),
    iat: Math.floor(grant.issuedAtMs / 1_000),
    sub: principal,
    aud: grant.audience,
    jti: grant.tokenId,
    act: { sub: runtimeId, act: { sub: agentId } },
    tenant,
    task_id: grant.taskId,
    run_no: grant.runNo,
    agent_id: agentId,
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    tools,
  };
}

/** RFC 6749, 5.1. */
export function encodeRenewed({ token, expiresAtMs }: MintedToken, nowMs: number): RenewedAnswer {
  const expires_in = Math.max(0, Math.floor((expiresAtMs - nowMs) / 1_000));
  return { access_token: token, token_type: 'Bearer', expires_in };
}

/** What no tool can be called is looked for nowhere; it would not be stored everywhere either. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws DomainError `tool_denied` */
export function decodeInvoke(toolName: string, { tool_call_id, arguments: args }: InvokeBody): OutsideCallRequest {
  if (!TOOL_NAME.test(toolName)) throw new DomainError('tool_denied', 'There is no tool of this name.');
  return { toolName, toolCallId: tool_call_id, args };
}
