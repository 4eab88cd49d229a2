import { pointerTo } from '#lib/domain';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import {
  DEFAULT_TENANT_LIMITS,
  type LimitChanges,
  type LimitName,
  type Limits,
  limitsWith,
  LimitTable,
  UNLIMITED,
} from './limits.js';

/** The file cannot be used; the message names every fault by its path. */
export class LimitsFileError extends Error {
  override readonly name = 'LimitsFileError';
}

/** How the file spells each limit, and the least it takes. */
const NAMES: Readonly<Record<string, { readonly name: LimitName; readonly least: number }>> = {
  requests_per_second: { name: 'requestsPerSecond', least: 0.001 },
  request_burst: { name: 'requestBurst', least: 1 },
  queued_tasks: { name: 'queuedTasks', least: 0 },
  running_tasks: { name: 'runningTasks', least: 0 },
  open_streams: { name: 'openStreams', least: 0 },
  open_waits: { name: 'openWaits', least: 0 },
  artifact_bytes: { name: 'artifactBytes', least: 0 },
};
const SECTIONS = ['every_tenant', 'every_key', 'tenants', 'keys'];
const NO_LIMIT = 'unlimited';

/** Without a file: what holds where nobody says otherwise. @throws LimitsFileError */
export async function readLimitsFile(path: string | undefined): Promise<LimitTable> {
  if (path === undefined) return new LimitTable();
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new LimitsFileError(`it cannot be read (${error.code})`);
  });
  return parseLimitsFile(text);
}

/** @throws LimitsFileError with every fault. */
export function parseLimitsFile(text: string): LimitTable {
  const reader = new LimitsReader();
  const file = reader.object(parseYaml(text), '');
  for (const name of Object.keys(file)) if (!SECTIONS.includes(name)) reader.fault(pointerTo(name), 'is no section');
  const everyTenant = limitsWith(DEFAULT_TENANT_LIMITS, reader.changes(file['every_tenant'], '/every_tenant'));
  const everyKey = limitsWith(UNLIMITED, reader.changes(file['every_key'], '/every_key'));
  const tenants = reader.named(file['tenants'], '/tenants', everyTenant);
  const keys = reader.named(file['keys'], '/keys', everyKey);
  if (reader.faults.length > 0) throw new LimitsFileError(reader.faults.join('; '));
  return new LimitTable(everyTenant, everyKey, tenants, keys);
}

class LimitsReader {
  readonly faults: string[] = [];

  fault(path: string, message: string): void {
    this.faults.push(`${path || 'the file'} ${message}`);
  }

  /** What is absent is empty. */
  object(value: unknown, path: string): Readonly<Record<string, unknown>> {
    if (value === undefined || value === null) return {};
    if (typeof value === 'object' && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
    this.fault(path, 'must be a mapping');
    return {};
  }

  named(value: unknown, path: string, base: Limits): ReadonlyMap<string, Limits> {
    const entries = Object.entries(this.object(value, path));
    return new Map(
      entries.map(([name, limits]) => [name, limitsWith(base, this.changes(limits, path + pointerTo(name)))]),
    );
  }

  changes(value: unknown, path: string): LimitChanges {
    const changes: { -readonly [name in LimitName]?: number } = {};
    for (const [spelt, limit] of Object.entries(this.object(value, path))) {
      const known = Object.hasOwn(NAMES, spelt) ? NAMES[spelt] : undefined;
      const at = path + pointerTo(spelt);
      if (known === undefined) this.fault(at, `is no limit; there are ${Object.keys(NAMES).join(', ')}`);
      else if (known.name === 'artifactBytes' && /^\/(every_key|keys)\b/.test(path))
        this.fault(at, 'is for tenants only');
      else if (limit === NO_LIMIT) changes[known.name] = Infinity;
      else if (isLimit(limit, known)) changes[known.name] = limit;
      else this.fault(at, `must be ${NO_LIMIT} or a number of at least ${known.least}`);
    }
    return changes;
  }
}

function isLimit(value: unknown, { name, least }: { name: LimitName; least: number }): value is number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) return false;
  return name === 'requestsPerSecond' || Number.isSafeInteger(value);
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { prettyErrors: true, maxAliasCount: 100 });
  } catch (error) {
    const [line] = (error as Error).message.split('\n');
    throw new LimitsFileError(line ?? 'it is not YAML');
  }
}
