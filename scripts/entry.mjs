// Runs one of the built programs to its end.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { lastLines } from './services.mjs';
import { UserError } from './terminal.mjs';

const root = path.resolve(import.meta.dirname, '..');
export const MIGRATE = 'dist/apps/migrate/src/main.js';
export const KEYS = 'dist/apps/gateway/src/keys.main.js';

/** What the program printed; when it fails, its last lines are the message. */
export function runEntry(entry, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(root, entry), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [printed, complaints] = ['', ''];
    child.stdout.on('data', (chunk) => (printed += chunk));
    child.stderr.on('data', (chunk) => (complaints += chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve(printed.trim());
      reject(new UserError(lastLines(complaints.trim() || printed)));
    });
  });
}
