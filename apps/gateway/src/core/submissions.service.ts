import type { TaskId, TaskKey, TaskState } from '#lib/domain';
import type { Caller } from './caller.js';
import type { RawJson } from './raw-json.js';

/** A task as a caller asks for it. */
export interface SubmitRequest {
  /** The caller's own name for the task. */
  readonly taskId?: string;
  readonly idempotencyKey?: string;
  readonly agentId?: string;
  readonly type?: string;
  /** A string, an object, or an array of parts. */
  readonly input: RawJson;
  /** An object; absent: `{}`. `user_id` and `attributes` in it take part in routing. */
  readonly context?: RawJson;
  /** 1 to 2,592,000; absent: the agent's. */
  readonly deadlineSeconds?: number;
  /** 0 to 9; absent: 5. */
  readonly priority?: number;
  /** An unknown level means `status`; absent: the agent's. */
  readonly detail?: string;
  /** The whole body as parsed: its canonical form tells a repeat from another request under the same key. */
  readonly body: unknown;
  readonly requestId: string;
}

/** A task that was just submitted, or that the same request had submitted before. */
export interface Submitted {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly state: TaskState;
  /** False: the same request came before, and this is its task as it stands now. */
  readonly created: boolean;
}

/** Takes tasks in. */
export abstract class SubmissionsService {
  /**
   * @throws DomainError `invalid_request`, `idempotency_conflict`, `unknown_agent`, `agent_disabled`, `no_route`,
   * `unsupported_input`
   */
  abstract submit(caller: Caller, request: SubmitRequest): Promise<Submitted>;
}
