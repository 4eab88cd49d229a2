import { type Detail, DomainError, type Fault, faulty, parseDetail, pointerOf } from '#lib/domain';
import { z } from 'zod';

/** A task as this wire asks for it. */
export interface RemoteSubmit {
  readonly taskId: string;
  readonly agentId?: string;
  readonly type?: string;
  /** A text, or for plain callers an object or an array of parts. */
  readonly input: unknown;
  readonly detail: Detail;
  /** False: it was absent, or no object and so taken for absent. */
  readonly hasContext: boolean;
}

/** Scalars are taken for texts, as AgentScope's server does. */
const TEXT = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);
/** At most 200 characters, none of them a control character or half of a pair. */
const NAME = z.string().regex(/^[^\p{Cc}\p{Cs}]{0,200}$/u, 'must be at most 200 characters without control characters');

const SUBMIT = z.looseObject({
  task_id: TEXT.nullish(),
  agent_id: TEXT.pipe(NAME).nullish(),
  type: NAME.nullish(),
  input: z.unknown().optional(),
  // Whatever is no object counts as absent.
  context: z.preprocess(
    (context) => (isObject(context) ? context : undefined),
    z
      .looseObject({ user_id: NAME.nullish(), parent_session_id: NAME.nullish(), detail: z.unknown().optional() })
      .optional(),
  ),
});

/**
 * Body of `POST /tasks`. Members it does not know are ignored.
 * @throws DomainError `invalid_request` with every fault
 */
export function decodeSubmit(body: unknown): RemoteSubmit {
  const { success, data, error } = SUBMIT.safeParse(body);
  if (!success) throw faulty('invalid_request', error.issues.map(faultOf));
  const { task_id, agent_id, type, input, context } = data;
  if (task_id == null || task_id.trim() === '') {
    const faults = [{ path: '/task_id', code: 'required', message: 'is required' }];
    throw new DomainError('invalid_request', 'task_id is required', { faults });
  }
  return {
    taskId: task_id,
    agentId: agent_id || undefined,
    type: type || undefined,
    input: textOfScalar(input),
    detail: detailOf(context?.detail),
    hasContext: context !== undefined,
  };
}

/** The level a submission asks for, trimmed and in any case; what is none means `status`. */
function detailOf(value: unknown): Detail {
  return parseDetail(typeof value === 'string' ? value.trim().toLowerCase() : undefined);
}

/** Objects and lists are taken as they are, for plain callers. */
function textOfScalar(input: unknown): unknown {
  if (typeof input === 'number' || typeof input === 'boolean') return String(input);
  return input ?? '';
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function faultOf({ path, code, message }: z.core.$ZodIssue): Fault {
  const text = code === 'invalid_union' ? 'must be a text' : message;
  return { path: pointerOf(path), code, message: text };
}
