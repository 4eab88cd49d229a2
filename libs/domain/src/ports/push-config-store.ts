import type { AuditEntry } from '../audit-entry.js';
import type { TaskKey } from '../ids.js';
import type { SealedSecret } from './webhook-store.js';

/** Somebody who is told of every change of one task, in the words of the protocol they asked in. */
export interface PushConfig {
  readonly taskKey: TaskKey;
  /** Unique in its task. */
  readonly id: string;
  readonly tenant: string;
  /** Who made it. */
  readonly principal: string;
  readonly url: string;
  /** JSON text of what is sent along (`PushCredentials`); null: nothing. */
  readonly credentials: SealedSecret | null;
  /** Names the form of the messages. */
  readonly format: string;
}

/** What shows a receiver that a message is one it asked for. */
export interface PushCredentials {
  readonly token?: string;
  readonly scheme?: string;
  readonly credentials?: string;
}

/** How a config is put in. */
export interface PushConfigWrite {
  /** It is told what has happened already too: it came with the task. */
  readonly isFromStart: boolean;
  readonly maxPerTask: number;
  readonly audit: AuditEntry;
}

/** Configs of tasks. What they are told is made by the database, with the event it tells of. */
export abstract class PushConfigStore {
  /** New, or in place of the one with its id. False: the task has as many as it may have. */
  abstract put(config: PushConfig, write: PushConfigWrite): Promise<boolean>;
  /** In the order they were made. */
  abstract list(taskKey: TaskKey): Promise<readonly PushConfig[]>;
  /** With what is still to be sent. False when it was not there. */
  abstract remove(taskKey: TaskKey, id: string, audit: AuditEntry): Promise<boolean>;
}
