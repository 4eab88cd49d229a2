// `npm run gateway | runtime | migrate`: one process alone, against the services its environment names.
import './node-version.mjs';
import './npm-watch.mjs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { MIGRATE } from './entry.mjs';
import { ensureInstalled } from './install.mjs';
import { fail } from './terminal.mjs';

const ENTRIES = {
  gateway: 'dist/apps/gateway/src/main.js',
  runtime: 'dist/apps/runtime/src/main.js',
  migrate: MIGRATE,
};

try {
  await ensureInstalled();
  const { build } = await import('./build.mjs');
  await build();
  const entry = path.resolve(import.meta.dirname, '..', ENTRIES[process.argv[2]]);
  process.argv.splice(1, 2, entry);
  await import(pathToFileURL(entry));
} catch (error) {
  fail(error);
}
