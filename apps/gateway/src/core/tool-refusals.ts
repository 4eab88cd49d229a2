import { DomainError, type ToolError } from '#lib/domain';
import { type Denied, errorOf } from '#lib/tools';

/** True for what a tool, or the gateway before it, says is wrong; by name, since realms differ under test. */
export function isToolError(error: unknown): error is ToolError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'ToolError';
}

/** How a call that was not let out is refused to its maker. */
export function refusalOf(denied: Denied): DomainError {
  const { code, message } = errorOf(denied);
  if (code === 'invalid_arguments') {
    const faults = [{ path: '/arguments', code, message }];
    return new DomainError('invalid_request', `/arguments: ${message}`, { faults });
  }
  const needsApproval = ['not_approved', 'changed', 'approval_used'].includes(denied.code);
  return new DomainError(needsApproval ? 'approval_required' : 'tool_denied', message);
}
