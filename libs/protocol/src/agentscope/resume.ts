import { type ConfirmationBody, type DecisionRequest, DENIAL, faulty } from '#lib/domain';

/** The longest reason that is taken, in UTF-16 units. */
const MAX_REASON = 4_096;

type Members = Readonly<Record<string, unknown>>;

/** What the body says of one pending item. */
export interface RemoteDecision {
  readonly approved: boolean;
  readonly reason?: string;
}

/**
 * Body of `POST /tasks/{taskId}/resume`, by the id of the call. As AgentScope reads it: no list is an empty one, items that
 * are no objects or name nothing are skipped, of two for one call the later wins, and nothing but `true` approves.
 * @throws DomainError `invalid_request` for a body that is no object, or a reason that is too long
 */
export function decodeResume(body: unknown): ReadonlyMap<string, RemoteDecision> {
  if (!isObject(body)) throw faulty('invalid_request', [{ path: '', code: 'is_object', message: 'must be an object' }]);
  const { decisions } = body;
  const items: readonly unknown[] = Array.isArray(decisions) ? decisions : [];
  const decided = new Map<string, RemoteDecision>();
  items.forEach((item, index) => {
    if (!isObject(item)) return;
    const id = item['toolCallId'] ?? item['tool_call_id'];
    if (typeof id === 'string') decided.set(id, { approved: isApproval(item['approved']), ...reasonOf(item, index) });
  });
  return decided;
}

/** A decision for each pending item: what nobody decided is denied, and what is not pending is nobody's business. */
export function decideAll(
  pending: readonly Pick<ConfirmationBody, 'tool_call_id'>[],
  decided: ReadonlyMap<string, RemoteDecision>,
): readonly DecisionRequest[] {
  return pending.map(({ tool_call_id }) => {
    const { approved = false, reason } = decided.get(tool_call_id) ?? {};
    // A question that is denied without a word is answered by that: the wire has no other way out of it.
    return approved ? { tool_call_id, approved, reason } : { tool_call_id, approved, reason: reason ?? DENIAL };
  });
}

function isApproval(value: unknown): boolean {
  return value === true || (typeof value === 'string' && value.toLowerCase() === 'true');
}

function reasonOf({ reason }: Members, index: number): Pick<RemoteDecision, 'reason'> {
  if (typeof reason !== 'string' || reason.trim() === '') return {};
  if (reason.length <= MAX_REASON) return { reason };
  const message = `must have at most ${MAX_REASON} characters`;
  throw faulty('invalid_request', [{ path: `/decisions/${index}/reason`, code: 'max_length', message }]);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
