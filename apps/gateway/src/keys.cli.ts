import { isScope, type KeyRecord, type KeyStore, type Scope, SCOPES } from '#lib/domain';
import { formatApiKey, hashSecret, mintApiKey } from '#lib/security';
import { parseArgs } from 'node:util';
import { ADMIN } from './core/admin-key.js';

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
  npm run keys -- revoke ID

Scopes: ${SCOPES.join(' ')}, or all.`;

const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;

type Command = (args: readonly string[], context: KeysContext) => Promise<string>;

const COMMANDS: Readonly<Record<string, Command>> = { create, first, list, revoke };

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
  await keys.put({ id: key.id, secretHash: hashSecret(key.secret), ...ADMIN, expiresAtMs: null });
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
  const tenant = parseName('--tenant', values.tenant);
  const principal = parseName('--principal', values.principal);
  const scopes = parseScopes(values.scopes);
  const expiresAtMs = values.days === undefined ? null : nowMs + parseDays(values.days) * DAY_MS;
  const key = mintApiKey();
  await keys.put({ id: key.id, secretHash: hashSecret(key.secret), tenant, principal, scopes, expiresAtMs });
  const text = formatApiKey(key);
  if (values.json)
    return JSON.stringify({ id: key.id, key: text, tenant, principal, scopes, expires_at: timeOf(expiresAtMs) });
  const until = expiresAtMs === null ? 'does not expire' : `expires on ${dayOf(expiresAtMs)}`;
  return `Key ${key.id} for ${principal} in tenant ${tenant} (${scopes.join(' ')}) ${until}.\nIt is shown only this once:\n\n  ${text}\n`;
}

async function list(args: readonly string[], { keys, nowMs }: KeysContext): Promise<string> {
  const { values } = read(args, { json: { type: 'boolean', default: false } });
  const records = await keys.list();
  if (values.json) return JSON.stringify(records.map((record) => encodeRecord(record, nowMs)));
  if (records.length === 0) return 'There are no keys.';
  const header = ['ID', 'TENANT', 'PRINCIPAL', 'STATE', 'CREATED', 'EXPIRES', 'SCOPES'];
  return table([header, ...records.map((record) => rowOf(record, nowMs))]);
}

async function revoke(args: readonly string[], { keys }: KeysContext): Promise<string> {
  const { positionals } = read(args, {}, true);
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0) throw new UsageError('revoke takes the id of one key.');
  if (!(await keys.revoke(id))) throw new UsageError(`There is no live key with the id ${id}.`);
  return `Key ${id} is revoked; gateways refuse it within 5 seconds.`;
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

function parseScopes(value: string | undefined): readonly Scope[] {
  if (value === 'all') return SCOPES;
  const words = (value ?? '').split(',').map((word) => word.trim());
  const scopes = words.filter(isScope);
  if (scopes.length === words.length) return [...new Set(scopes)];
  const unknown = words.filter((word) => !isScope(word)).map((word) => (word === '' ? 'nothing' : word));
  throw new UsageError(`--scopes: ${unknown.join(', ')} is no scope. There are ${SCOPES.join(' ')}, or all.`);
}

function parseDays(value: string): number {
  const days = Number(value);
  if (/^\d+$/.test(value) && days >= 1 && days <= MAX_DAYS) return days;
  throw new UsageError(`--days must be a whole number from 1 to ${MAX_DAYS}.`);
}

function stateOf({ expiresAtMs, revokedAtMs }: KeyRecord, nowMs: number): 'live' | 'expired' | 'revoked' {
  if (revokedAtMs !== null) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : 'live';
}

function encodeRecord(record: KeyRecord, nowMs: number): object {
  return {
    id: record.id,
    tenant: record.tenant,
    principal: record.principal,
    state: stateOf(record, nowMs),
    scopes: record.scopes,
    created_at: timeOf(record.createdAtMs),
    expires_at: timeOf(record.expiresAtMs),
    revoked_at: timeOf(record.revokedAtMs),
  };
}

function rowOf(record: KeyRecord, nowMs: number): readonly string[] {
  const { id, tenant, principal, createdAtMs, expiresAtMs, scopes } = record;
  const expires = expiresAtMs === null ? 'never' : dayOf(expiresAtMs);
  const what = scopes.length === SCOPES.length ? 'all' : scopes.join(' ');
  return [id, tenant, principal, stateOf(record, nowMs), dayOf(createdAtMs), expires, what];
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
