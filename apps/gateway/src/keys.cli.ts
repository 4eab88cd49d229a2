import {
  type AuditEntry,
  isScope,
  type KeyRecord,
  type KeyStore,
  keyStateOf,
  MAX_LIVE_SECRETS,
  type Scope,
  SCOPES,
} from '#lib/domain';
import { formatApiKey, hashSecret, mintApiKey } from '#lib/security';
import { parseArgs } from 'node:util';
import { ADMIN, systemAudit } from './core/admin-key.js';

/** The command line is not one we know; the message says what is. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface KeysContext {
  readonly keys: KeyStore;
  /** An administrator's key comes from the environment, so that nobody needs a first one. */
  readonly hasAdminKey: boolean;
  readonly nowMs: number;
}

const USAGE = `Usage:
  npm run keys -- create --principal NAME --scopes A,B [--tenant NAME] [--days N] [--json]
  npm run keys -- list [--json]
  npm run keys -- rotate ID [--hours N] [--json]
  npm run keys -- revoke ID

Scopes: ${SCOPES.join(' ')}, or all.`;

const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
const HOUR_MS = 3_600_000;
const MAX_HOURS = 720;

type Command = (args: readonly string[], context: KeysContext) => Promise<string>;

const COMMANDS: Readonly<Record<string, Command>> = { create, first, list, rotate, revoke };

/** Runs one command and returns what it has to say. @throws UsageError with one message for the person who typed it. */
export async function runKeys([name = '', ...args]: readonly string[], context: KeysContext): Promise<string> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(USAGE);
  return command(args, context);
}

/** The key of the first administrator, alone, and nothing when there are keys already or one is configured. */
async function first(_args: readonly string[], { keys, hasAdminKey }: KeysContext): Promise<string> {
  if (hasAdminKey || (await keys.any())) return '';
  const key = mintApiKey();
  await keys.put({ id: key.id, secretHash: hashSecret(key.secret), ...ADMIN }, record('create', ADMIN.tenant, key.id));
  return formatApiKey(key);
}

async function create(args: readonly string[], { keys, nowMs }: KeysContext): Promise<string> {
  const { values } = read(args, {
    tenant: { type: 'string', default: ADMIN.tenant },
    principal: { type: 'string' },
    scopes: { type: 'string' },
    days: { type: 'string' },
    json: { type: 'boolean', default: false },
  });
  const tenant = parseTenant(values.tenant);
  const principal = parseName('--principal', values.principal);
  const scopes = parseScopes(values.scopes);
  const expiresAtMs =
    values.days === undefined ? null : nowMs + parseCount('--days', values.days, { from: 1, to: MAX_DAYS }) * DAY_MS;
  const key = mintApiKey();
  const row = { id: key.id, secretHash: hashSecret(key.secret), tenant, principal, scopes, label: null, expiresAtMs };
  await keys.put(row, record('create', tenant, key.id));
  const text = formatApiKey(key);
  if (values.json)
    return JSON.stringify({ id: key.id, key: text, tenant, principal, scopes, expires_at: timeOf(expiresAtMs) });
  const until = expiresAtMs === null ? 'does not expire' : `expires on ${dayOf(expiresAtMs)}`;
  return `Key ${key.id} for ${principal} in tenant ${tenant} (${scopes.join(' ')}) ${until}.\nIt is shown only this once:\n\n  ${text}\n`;
}

async function list(args: readonly string[], { keys, nowMs }: KeysContext): Promise<string> {
  const { values } = read(args, { json: { type: 'boolean', default: false } });
  const records = await allOf(keys);
  if (values.json) return JSON.stringify(records.map((record) => encodeRecord(record, nowMs)));
  if (records.length === 0) return 'There are no keys.';
  const header = ['ID', 'TENANT', 'PRINCIPAL', 'STATE', 'CREATED', 'EXPIRES', 'USED', 'SCOPES'];
  return table([header, ...records.map((record) => rowOf(record, nowMs))]);
}

async function rotate(args: readonly string[], { keys }: KeysContext): Promise<string> {
  const options = { hours: { type: 'string', default: '24' }, json: { type: 'boolean', default: false } } as const;
  const { values, positionals } = read(args, options, true);
  const id = theOne('rotate', positionals);
  const hours = parseCount('--hours', values.hours, { from: 0, to: MAX_HOURS });
  const known = await keys.find(id);
  const { secret } = mintApiKey();
  const rotation = { id, secretHash: hashSecret(secret), overlapMs: hours * HOUR_MS };
  const isRotated = known !== undefined && (await keys.rotate(rotation, record('rotate', known.tenant, id)));
  if (!isRotated)
    throw new UsageError(`There is no live key with the id ${id}, or ${MAX_LIVE_SECRETS} secrets of it work already.`);
  const text = formatApiKey({ id, secret });
  if (values.json) return JSON.stringify({ id, key: text });
  return `Key ${id} has a new secret; those before it work for ${hours} h more at most. It is shown only this once:\n\n  ${text}\n`;
}

async function revoke(args: readonly string[], { keys }: KeysContext): Promise<string> {
  const { positionals } = read(args, {}, true);
  const id = theOne('revoke', positionals);
  const known = await keys.find(id);
  if (!known || !(await keys.revoke(id, record('revoke', known.tenant, id))))
    throw new UsageError(`There is no live key with the id ${id}.`);
  return `Key ${id} is revoked; gateways refuse it within 5 seconds.`;
}

async function allOf(keys: KeyStore): Promise<readonly KeyRecord[]> {
  const records: KeyRecord[] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await keys.list({}, { limit: 200, cursor });
    records.push(...items);
    cursor = nextCursor;
  } while (cursor !== undefined);
  return records;
}

function record(verb: 'create' | 'rotate' | 'revoke', tenant: string, target: string): AuditEntry {
  return systemAudit({ tenant, action: `key.${verb}`, target, details: { from: 'npm run keys' } });
}

function theOne(verb: string, [id, ...others]: readonly string[]): string {
  if (id === undefined || others.length > 0) throw new UsageError(`${verb} takes the id of one key.`);
  return id;
}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

function read<const O extends Options>(
  args: readonly string[],
  options: O,
  allowPositionals = false,
): ReturnType<typeof parseArgs<{ options: O; allowPositionals: boolean; strict: true }>> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true });
  } catch (error) {
    // The messages of Node's parser are made for the person at the keyboard; their first sentence says it.
    const [sentence] = (error as Error).message.split('. ');
    throw new UsageError(`${sentence}.\n\n${USAGE}`);
  }
}

function parseName(option: string, value: string | undefined): string {
  if (value !== undefined && NAME.test(value)) return value;
  throw new UsageError(`${option} must be a name of 1 to 200 characters.`);
}

/** The name of all tenants is that of none. */
function parseTenant(value: string): string {
  if (value === '*') throw new UsageError('--tenant must be the name of one tenant: * stands for all of them.');
  return parseName('--tenant', value);
}

function parseScopes(value: string | undefined): readonly Scope[] {
  if (value === 'all') return SCOPES;
  const words = (value ?? '').split(',').map((word) => word.trim());
  const scopes = words.filter(isScope);
  if (scopes.length === words.length) return [...new Set(scopes)];
  const unknown = words.filter((word) => !isScope(word)).map((word) => (word === '' ? 'nothing' : word));
  throw new UsageError(`--scopes: ${unknown.join(', ')} is no scope. There are ${SCOPES.join(' ')}, or all.`);
}

function parseCount(option: string, value: string, { from, to }: { from: number; to: number }): number {
  const count = Number(value);
  if (/^\d+$/.test(value) && count >= from && count <= to) return count;
  throw new UsageError(`${option} must be a whole number from ${from} to ${to}.`);
}

function encodeRecord(record: KeyRecord, nowMs: number): object {
  return {
    id: record.id,
    tenant: record.tenant,
    principal: record.principal,
    state: keyStateOf(record, nowMs),
    scopes: record.scopes,
    created_at: timeOf(record.createdAtMs),
    expires_at: timeOf(record.expiresAtMs),
    revoked_at: timeOf(record.revokedAtMs),
    last_used_at: timeOf(record.lastUsedAtMs),
  };
}

function rowOf(record: KeyRecord, nowMs: number): readonly string[] {
  const { id, tenant, principal, createdAtMs, expiresAtMs, lastUsedAtMs, scopes } = record;
  const expires = expiresAtMs === null ? 'never' : dayOf(expiresAtMs);
  const what = scopes.length === SCOPES.length ? 'all' : scopes.join(' ');
  const used = lastUsedAtMs === null ? 'never' : dayOf(lastUsedAtMs);
  return [id, tenant, principal, keyStateOf(record, nowMs), dayOf(createdAtMs), expires, used, what];
}

function timeOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
