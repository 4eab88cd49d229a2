#!/usr/bin/env node
// `switchyard`: the command line. Works offline, with nothing but Node, once the repository has been built.
import './node-version.mjs';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureInstalled } from './install.mjs';
import { fail } from './terminal.mjs';

const entry = path.resolve(import.meta.dirname, '../dist/apps/cli/src/switchyard.js');

try {
  if (!existsSync(entry)) {
    await ensureInstalled();
    const { build } = await import('./build.mjs');
    await build();
  }
  await import(pathToFileURL(entry));
} catch (error) {
  fail(error);
}
