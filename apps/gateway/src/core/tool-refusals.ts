import { DomainError, type ToolError } from '#lib/domain';

/** True for what a tool, or the gateway before it, says is wrong; by name, since realms differ under test. */
export function isToolError(error: unknown): error is ToolError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'ToolError';
}

/** How a call that was not let out is refused to its maker. */
export function refusalOf({ code, message }: ToolError, needsApproval: boolean): DomainError {
  if (code === 'invalid_arguments') {
    const faults = [{ path: '/arguments', code, message }];
    return new DomainError('invalid_request', `/arguments: ${message}`, { faults });
  }
  return new DomainError(needsApproval ? 'approval_required' : 'tool_denied', message);
}
