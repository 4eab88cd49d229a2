import type { TaskId, TaskKey } from '../ids.js';
import type { DueTask, RunJob } from './run-store.js';

/** An unfinished task that a later one of its session is to end, and who submitted that one. */
export interface OvertakenTask extends DueTask {
  readonly cancelRequested: boolean;
  readonly by: { readonly tenant: string; readonly taskId: TaskId; readonly principal: string };
}

/** What follows from looking at sessions. */
export interface SessionTurns {
  /** Runs whose turn has come; their outbox rows are written. */
  readonly jobs: readonly RunJob[];
  /** Ending them is the caller's append; until it is written, each look answers them again. */
  readonly overtaken: readonly OvertakenTask[];
}

/**
 * Whose turn it is in a session. Every terminal event of a session's task leaves a note; working it off locks the
 * session, never a head, and gives the turn to the first task in line that has not ended. Doing so twice does nothing more.
 */
export abstract class SessionStore {
  /** Works off the notes these tasks left; tasks without one cost a look. */
  abstract advance(taskKeys: readonly TaskKey[]): Promise<SessionTurns>;
  /** Works off notes that nobody has for a second, at most `limit`; leaves out sessions that are locked. */
  abstract advanceDue(limit: number): Promise<SessionTurns>;
}
