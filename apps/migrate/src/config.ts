import { readSettings, urlOf } from '#lib/platform';

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
} as const;

export interface MigrateConfig {
  readonly ownerUrl: string;
  readonly databaseUrl: string;
}

/** @throws SettingsError that names the variable. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): MigrateConfig {
  const settings = readSettings(SETTINGS, env);
  return { ownerUrl: settings.MIGRATIONS_DATABASE_URL ?? settings.DATABASE_URL, databaseUrl: settings.DATABASE_URL };
}
