/** Whom a driver speaks to, and as whom. */
export interface Place {
  /** Of a gateway, without a slash at its end. */
  readonly url: string;
  readonly key: string;
}

/** What a task has come to, as far as a wire tells. `text`: its answer, or why it failed. */
export interface Sight {
  readonly state: 'waiting' | 'succeeded' | 'failed' | 'cancelled';
  readonly text: string;
}

/**
 * One protocol as its own clients use it, for the matrix of all of them: what is created by one is watched, answered and
 * cancelled by every other that has the words. Tasks go by their native id, whichever protocol they came by.
 */
export interface Driver {
  readonly name: string;
  /** Submits `text` to an agent; resolves, as soon as the wire tells, with the native id of the task. */
  create(place: Place, agentId: string, text: string): Promise<string>;
  /** Resolves when the wire says that the task waits for somebody or has ended. Absent: the wire cannot watch tasks of others. */
  watch?(place: Place, taskId: string): Promise<Sight>;
  /** Approves, or denies, everything the task waits for. Absent: the wire has no words for it. */
  decide?(place: Place, taskId: string, isApproved: boolean): Promise<void>;
  /** Absent: the wire cannot cancel. */
  cancel?(place: Place, taskId: string): Promise<void>;
}
