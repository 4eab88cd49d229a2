// Installs the packages of package-lock.json when they are not there. Uses nothing but Node, since it runs before them.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stage, UserError } from './terminal.mjs';

const root = path.resolve(import.meta.dirname, '..');

function lockedPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}

/** Whether a locked package is missing or has another version. Optional ones depend on the platform and are not asked for. */
function outOfDate(dev) {
  const locked = lockedPackages(path.join(root, 'package-lock.json'));
  const installed = lockedPackages(path.join(root, 'node_modules/.package-lock.json'));
  return Object.entries(locked).some(
    ([name, entry]) =>
      name !== '' &&
      !entry.optional &&
      !entry.devOptional &&
      (dev || !entry.dev) &&
      (installed[name]?.version !== entry.version || !existsSync(path.join(root, name))),
  );
}

/** npm as it was called, else the one on the PATH. */
export function npmCommand(...args) {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('.js') ? [process.execPath, [cli, ...args]] : ['npm', args];
}

function npmCi(args) {
  // No package needs its install script: the links of PostgreSQL's libraries are made by us.
  const [command, commandArgs] = npmCommand('ci', '--ignore-scripts', '--no-audit', '--no-fund', ...args);
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArgs, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('error', () => reject(new UserError('npm was not found: install npm and put it on the PATH')));
    child.once('close', (code) =>
      code === 0
        ? resolve()
        : reject(new UserError(`${output.trim()}\nnpm could not install the packages: see its message above`)),
    );
  });
}

/** Installs if needed: what the product runs on, with `dev` also what tests and checks need. */
export async function ensureInstalled({ dev = false } = {}) {
  if (!outOfDate(dev)) return;
  await stage('Install packages', () => npmCi(dev ? ['--include=dev'] : ['--omit=dev']));
}
