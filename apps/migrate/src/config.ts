import { integerFrom, readSettings, urlOf } from '#lib/platform';

const days = integerFrom(1, 36_500);
const tenantDays = {
  expects: 'none, or tenant=days,tenant=days with whole numbers from 1 to 36500, each tenant once',
  parse: parseTenantDays,
};

/** The environment of `npm run migrate`; docs/operations.md shows it. */
export const SETTINGS = {
  DATABASE_URL: {
    required: true,
    meaning: 'The PostgreSQL database, as the processes connect to it.',
    ...urlOf('postgres', 'postgresql'),
  },
  MIGRATIONS_DATABASE_URL: {
    meaning: 'The same database as the owner of the schemas connects; absent: DATABASE_URL.',
    ...urlOf('postgres', 'postgresql'),
  },
  RETENTION_DAYS: { meaning: 'Days a task is kept after its end; absent: as it is, at first 30.', ...days },
  TENANT_RETENTION_DAYS: {
    meaning: 'Tenants that keep theirs for another time, tenant=days and so on; absent: as it is, at first none.',
    ...tenantDays,
  },
  AUDIT_RETENTION_DAYS: { meaning: 'Days an audit record is kept; absent: as it is, at first 400.', ...days },
  TENANT_AUDIT_RETENTION_DAYS: {
    meaning:
      'Tenants whose audit records are kept for another time, tenant=days and so on; absent: as it is, at first none.',
    ...tenantDays,
  },
} as const;

interface Terms {
  readonly days?: number;
  readonly tenants?: ReadonlyMap<string, number>;
}

export interface MigrateConfig {
  readonly ownerUrl: string;
  readonly databaseUrl: string;
  readonly retention: Terms;
  readonly auditRetention: Terms;
}

/** @throws SettingsError that names the variable. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): MigrateConfig {
  const settings = readSettings(SETTINGS, env);
  return {
    ownerUrl: settings.MIGRATIONS_DATABASE_URL ?? settings.DATABASE_URL,
    databaseUrl: settings.DATABASE_URL,
    retention: { days: settings.RETENTION_DAYS, tenants: settings.TENANT_RETENTION_DAYS },
    auditRetention: { days: settings.AUDIT_RETENTION_DAYS, tenants: settings.TENANT_AUDIT_RETENTION_DAYS },
  };
}

/** `none` names no tenant: all have the same again. */
function parseTenantDays(text: string): ReadonlyMap<string, number> | undefined {
  if (text === 'none') return new Map();
  const entries = text.split(',').map((entry) => /^([^=]{1,200})=(\d+)$/.exec(entry));
  const terms = new Map<string, number>();
  for (const entry of entries) {
    const value = days.parse(entry?.[2] ?? '');
    if (!entry?.[1] || value === undefined) return undefined;
    terms.set(entry[1], value);
  }
  return terms.size === entries.length ? terms : undefined;
}
