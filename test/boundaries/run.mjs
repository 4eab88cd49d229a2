// Proves that the import and syntax rules bite: a clean miniature of the repository passes, and each probe added
// to it alone makes the rules it names fire. Run by `npm run boundaries`.
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-config';
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { ESLint } from 'eslint';
import { importProbes } from './import-probes.mjs';
import { skeleton } from './skeleton.mjs';
import { syntaxProbes } from './syntax-probes.mjs';

const repository = path.resolve(fileURLToPath(import.meta.url), '../../..');
const CONFIGS = ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs', 'eslint.config.mjs'];
const FOLDERS = ['apps', 'libs', 'migrations', 'test'];
const failures = [];

function source(imports) {
  const lines = imports.map((name, at) =>
    name.startsWith('type ')
      ? `import type * as T${at} from '${name.slice(5)}';\nexport type U${at} = typeof T${at};`
      : `import '${name}';`,
  );
  return `${lines.join('\n')}\nexport const probe = 1;\n`;
}

function numbered(file, at) {
  const { dir, base } = path.parse(file);
  return `${dir}/p${at}-${base}`;
}

async function put(root, file, text) {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), text);
}

async function createSkeleton() {
  const root = await mkdtemp(path.join(tmpdir(), 'boundaries-'));
  for (const file of CONFIGS) await cp(path.join(repository, file), path.join(root, file));
  await symlink(path.join(repository, 'node_modules'), path.join(root, 'node_modules'));
  for (const [file, imports] of Object.entries(skeleton)) await put(root, file, source(imports));
  return root;
}

async function cruiser(root) {
  const config = await extractConfig(path.join(root, '.dependency-cruiser.cjs'));
  const tsConfig = extractTsConfig(path.join(root, 'tsconfig.json'));
  const options = { ...config.options, ruleSet: { forbidden: config.forbidden }, validate: true, baseDir: root };
  const violations = async () => {
    const { output } = await cruise(FOLDERS, options, config.options.enhancedResolveOptions, { tsConfig });
    return output.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, text: `${from} → ${to}` }));
  };
  return { rules: config.forbidden.map(({ name }) => name), violations };
}

function compare(name, found, expected) {
  const rules = found.map(({ rule }) => rule);
  const silent = expected.filter((rule) => !rules.includes(rule));
  if (silent.length > 0) {
    failures.push(`${name}: ${silent.join(', ')} did not fire (fired: ${rules.join(', ') || 'nothing'})`);
  }
  if (expected.length === 0) failures.push(...found.map(({ rule, text }) => `${name}: ${rule} fired: ${text}`));
}

async function probeImports(root) {
  const { rules, violations } = await cruiser(root);
  compare('the clean skeleton', await violations(), []);
  const probed = new Set(importProbes.flatMap(([, , expected]) => expected));
  failures.push(...rules.filter((name) => !probed.has(name)).map((name) => `${name} has no probe`));

  // A new file nobody imports is told from its neighbours by its name, so all of them share one walk.
  const fresh = importProbes.filter(([file]) => !skeleton[file]).map((probe, at) => [numbered(probe[0], at), ...probe]);
  for (const [file, , imports] of fresh) await put(root, file, source(imports));
  const found = await violations();
  for (const [file, name, imports, expected] of fresh) {
    const own = found.filter(({ from }) => from === file);
    compare(`${name} importing ${imports.join(', ') || 'nothing'}`, own, expected);
    await rm(path.join(root, file));
  }

  for (const [file, imports, expected] of importProbes.filter(([name]) => skeleton[name])) {
    await put(root, file, source([...skeleton[file], ...imports]));
    compare(`${file} importing ${imports.join(', ')}`, await violations(), expected);
    await put(root, file, source(skeleton[file]));
  }
}

async function probeSyntax(root) {
  for (const [file, text] of syntaxProbes) await put(root, file, text);
  const results = await new ESLint({ cwd: root }).lintFiles(FOLDERS);
  const byFile = new Map(results.map((result) => [path.relative(root, result.filePath), result.messages]));
  for (const [file, , rule] of syntaxProbes) {
    const found = (byFile.get(file) ?? []).map(({ ruleId, message }) => ({ rule: ruleId, text: message }));
    compare(file, found, rule ? [rule] : []);
  }
}

const startedMs = performance.now();
const root = await createSkeleton();
try {
  process.chdir(root);
  await probeImports(root);
  await probeSyntax(root);
} finally {
  process.chdir(repository);
  await rm(root, { recursive: true });
}
for (const failure of failures) process.stderr.write(`probe failed: ${failure}\n`);
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
process.stdout.write(
  `boundaries: ${importProbes.length} import and ${syntaxProbes.length} syntax probes, ${failures.length} failed, ${seconds} s\n`,
);
process.exitCode = failures.length > 0 ? 1 : 0;
