// Compiles the TypeScript of apps, libs, migrations and test/support into dist/, one file at a time.
// Only what is newer than its output is compiled, so a second start costs milliseconds.
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const root = path.resolve(fileURLToPath(import.meta.url), '../..');
const ROOTS = ['apps', 'libs', 'migrations', 'test'];
const TESTS = /\.(spec|int-spec|e2e-spec|fault-spec)\.ts$/;

async function* sources(dir) {
  for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) yield* sources(file);
    else if (file.endsWith('.ts') && !file.endsWith('.d.ts') && !TESTS.test(file)) yield file;
  }
}

async function modifiedMs(file) {
  return (await stat(file).catch(() => undefined))?.mtimeMs ?? 0;
}

async function compile(file) {
  const out = path.join(root, 'dist', path.relative(root, file)).replace(/\.ts$/, '.js');
  if ((await modifiedMs(out)) > (await modifiedMs(file))) return false;
  const { code, map } = await transformFile(file, {
    cwd: root,
    sourceFileName: path.relative(path.dirname(out), file),
  });
  await mkdir(path.dirname(out), { recursive: true });
  await writeFile(`${out}.map`, map ?? '');
  await writeFile(out, `${code}\n//# sourceMappingURL=${path.basename(out)}.map\n`);
  return true;
}

/** Compiles what changed; returns how many files that was. */
export async function build() {
  const done = [];
  for (const dir of ROOTS) for await (const file of sources(path.join(root, dir))) done.push(compile(file));
  return (await Promise.all(done)).filter(Boolean).length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const startedMs = performance.now();
  const files = await build();
  process.stdout.write(`build: ${files} files compiled in ${Math.round(performance.now() - startedMs)} ms\n`);
}
