/** A change a client asked for, as the audit trail names it. */
export type Mutation = 'task.submit' | 'task.cancel' | 'task.resume';

/** One request of a client. */
export interface SentRequest {
  readonly action: Mutation;
  readonly taskId: string;
  /** As sent in `x-request-id`; never used twice. */
  readonly requestId: string;
  readonly sentAtMs: number;
  /** Undefined while there is no answer, and for ever when the connection was lost. */
  status?: number;
}

/** An event as it came over the wire. */
export interface SeenEvent {
  readonly seq: number;
  /** The bytes behind `data:`. */
  readonly data: string;
  readonly atMs: number;
}

/** One reader of one task, over all the connections it took. */
export interface Subscription {
  readonly taskId: string;
  /** Its first cursor: events after this seq. */
  readonly afterSeq: number;
  readonly events: SeenEvent[];
  /** It has seen the stream end after a terminal event; nothing may be missing then. */
  isComplete: boolean;
}

/** What clients have sent and seen, and what was done to the system meanwhile: what the checker holds against the database. */
export class ClientHistory {
  readonly requests: SentRequest[] = [];
  readonly subscriptions: Subscription[] = [];
  /** How often each fault struck. */
  readonly faults = new Map<string, number>();

  /** Notes a request before it goes out; set its `status` when the answer is there. */
  send(action: Mutation, taskId: string, requestId: string): SentRequest {
    const request: SentRequest = { action, taskId, requestId, sentAtMs: Date.now() };
    this.requests.push(request);
    return request;
  }

  subscribe(taskId: string, afterSeq = 0): Subscription {
    const subscription: Subscription = { taskId, afterSeq, events: [], isComplete: false };
    this.subscriptions.push(subscription);
    return subscription;
  }

  /** Notes a fault that has struck something that was at work. */
  struck(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }
}
