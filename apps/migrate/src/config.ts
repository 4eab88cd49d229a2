/** Where to migrate, from the environment. */
export interface MigrateConfig {
  /** Connects as the owner of the schemas. */
  readonly ownerUrl: string;
  /** How the processes connect. */
  readonly databaseUrl: string;
}

/** @throws Error in one line that names the variable. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): MigrateConfig {
  const databaseUrl = readUrl('DATABASE_URL', env.DATABASE_URL);
  const ownerUrl = env.MIGRATIONS_DATABASE_URL
    ? readUrl('MIGRATIONS_DATABASE_URL', env.MIGRATIONS_DATABASE_URL)
    : databaseUrl;
  return { ownerUrl, databaseUrl };
}

function readUrl(name: string, value: string | undefined): string {
  const url = value === undefined ? null : URL.parse(value);
  if (url?.protocol === 'postgres:' || url?.protocol === 'postgresql:') return url.href;
  throw new Error(`${name} must be set to postgres://user:password@host:port/database`);
}
