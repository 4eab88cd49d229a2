import { type OvertakenTask, type RunJob, SessionStore, type SessionTurns, type TaskKey } from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { ADVANCE, LOCK_DUE, LOCK_NOTED } from './advance.statement.js';

const NOTHING: SessionTurns = { jobs: [], overtaken: [] };

/** Sessions and whose turn it is in them, in Postgres. */
export class PgSessionStore extends SessionStore {
  constructor(private readonly database: Database) {
    super();
  }

  override advance(taskKeys: readonly TaskKey[]): Promise<SessionTurns> {
    return this.workOff(LOCK_NOTED, [taskKeys]);
  }

  override advanceDue(limit: number): Promise<SessionTurns> {
    return this.workOff(LOCK_DUE, [limit]);
  }

  /** The second statement sees what those who held the sessions before have done. */
  private workOff(lock: Statement, values: readonly unknown[]): Promise<SessionTurns> {
    return this.database.transaction(async (client) => {
      const { rows: held } = await client.query<SessionRow>({ ...lock, values: [...values] });
      if (held.length === 0) return NOTHING;
      const { rows } = await client.query<TurnsRow>({
        ...ADVANCE,
        values: [
          held.map((row) => row.tenant),
          held.map((row) => row.agent_id),
          held.map((row) => row.user_id),
          held.map((row) => row.session_id),
        ],
      });
      const [{ turns, overtaken } = { turns: null, overtaken: null }] = rows;
      return { jobs: (turns ?? []).map((turn) => ({ ...turn, runNo: 1, delayMs: 0 })), overtaken: overtaken ?? [] };
    });
  }
}

interface SessionRow {
  readonly tenant: string;
  readonly agent_id: string;
  readonly user_id: string;
  readonly session_id: string;
}

interface TurnsRow {
  readonly turns: readonly Pick<RunJob, 'taskKey' | 'tenant' | 'pool' | 'priority'>[] | null;
  readonly overtaken: readonly OvertakenTask[] | null;
}
