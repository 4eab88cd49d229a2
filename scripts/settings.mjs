// The settings of the scripts themselves, read from the environment. What only gateway and runtime use they check themselves.
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { UserError } from './terminal.mjs';

const root = path.resolve(import.meta.dirname, '..');

/** A variable set to nothing counts as not set. */
function given(name) {
  return process.env[name] || undefined;
}

function readPort() {
  const value = given('PORT') ?? '3000';
  const port = Number(value);
  if (/^\d+$/.test(value) && port >= 1 && port <= 65_535) return port;
  throw new UserError('PORT is not a port: set it to a whole number from 1 to 65535, for example PORT=3001');
}

function readUrl(name, protocols, example) {
  const value = given(name);
  if (value === undefined) return undefined;
  if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
  throw new UserError(`${name} is not such an address: set it to something like ${example}`);
}

const readDatabase = (name) =>
  readUrl(name, ['postgres:', 'postgresql:'], 'postgresql://user:password@host:5432/database');

function readAdminKey() {
  const value = given('ADMIN_API_KEY');
  if (value === undefined || /^swy_[a-z0-9]{1,32}_[A-Za-z0-9_-]{32,}$/.test(value)) return value;
  throw new UserError(
    'ADMIN_API_KEY is not a key: set it to swy_<id>_<secret>, the id 1 to 32 of a-z and 0-9, the secret at least 32 of letters, digits, - and _',
  );
}

/** The database by URL, its owner's URL for migrations where it differs; nothing where the embedded server is to be used. */
export function readDatabases() {
  const databaseUrl = readDatabase('DATABASE_URL');
  const migrationsUrl = readDatabase('MIGRATIONS_DATABASE_URL');
  if (databaseUrl === undefined && migrationsUrl !== undefined) {
    throw new UserError(
      'MIGRATIONS_DATABASE_URL is set without DATABASE_URL: set both, or neither for the embedded PostgreSQL',
    );
  }
  return { databaseUrl, migrationsUrl: migrationsUrl ?? databaseUrl };
}

export function readAddress() {
  return { port: readPort(), host: given('HOST') ?? '127.0.0.1' };
}

export function readDataDir() {
  const value = given('DATA_DIR');
  return { dataDir: path.resolve(root, value ?? '.data'), dataDirGiven: value !== undefined };
}

export function readSettings() {
  return {
    ...readAddress(),
    adminKey: readAdminKey(),
    redisUrl: readUrl('REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379'),
    healthPort: given('HEALTH_PORT') === '0' ? undefined : given('HEALTH_PORT'),
    ...readDatabases(),
    ...readDataDir(),
  };
}

// Not by mkdir's own `recursive`: in a file system that makes no folders, such as /proc, that one never ends.
function makeFolder(dir) {
  if (existsSync(dir)) return;
  makeFolder(path.dirname(dir));
  mkdirSync(dir);
}

/** Makes the folder for data; refuses one that cannot be written. */
export function prepareDataDir({ dataDir }) {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK);
    if (!statSync(dataDir).isDirectory()) throw new Error('not a folder');
  } catch (error) {
    throw new UserError(
      `DATA_DIR: ${dataDir} cannot be written (${error.code ?? error.message}): set DATA_DIR to a folder that can`,
    );
  }
}
