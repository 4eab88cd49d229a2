import { createHash } from 'node:crypto';
import { canonicalJson, type TaskStore } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import type { Caller } from './caller.js';

/** How long after an attempt its repeat may come. */
const REPEAT_MS = 15 * 60_000;

/**
 * Finds what a client that names no key has asked before. Each first attempt gets a key of its own, so that the same
 * question asked twice stays two tasks; the key begins with what was asked, and goes on with when.
 */
export class RepeatsService {
  constructor(
    private readonly tasks: Pick<TaskStore, 'newestKey'>,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** The idempotency key of a first attempt. `kind` keeps the attempts of one surface apart from those of others. */
  firstKey(kind: string, body: unknown): string {
    return `${prefixOf(kind, body)}${newTaskKey()}`;
  }

  /** The key of the newest attempt with the same body; undefined when there is none of the last 15 minutes. */
  earlierKey({ tenant, principal }: Caller, kind: string, body: unknown): Promise<string | undefined> {
    const prefix = prefixOf(kind, body);
    // The ids begin with their time, in 48 bits.
    const since = (this.nowMs() - REPEAT_MS).toString(16).padStart(12, '0');
    return this.tasks.newestKey({ tenant, principal }, prefix, `${since.slice(0, 8)}-${since.slice(8)}`);
  }
}

function prefixOf(kind: string, body: unknown): string {
  return `${kind} ${createHash('sha256').update(canonicalJson(body)).digest('hex')} `;
}
