import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const readme = readFileSync('README.md', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

describe('README.md', () => {
  it('is at most 120 lines long', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  it('maps every app and lib, and only folders that exist', () => {
    const mapped = [...readme.matchAll(/^\| `([\w./-]+)` /gm)].map(([, name]) => name!);
    const actual = ['apps', 'libs'].flatMap((dir) => readdirSync(dir).map((name) => `${dir}/${name}`));
    expect(mapped.filter((name) => !existsSync(name))).toEqual([]);
    expect(mapped.filter((name) => /^(apps|libs)\//.test(name)).sort()).toEqual(actual.sort());
  });

  it('names only commands and pages that exist', () => {
    const commands = [...readme.matchAll(/npm run (\w+)/g)].map(([, name]) => name!);
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    const pages = [...readme.matchAll(/\]\(([\w./-]+)\)/g)].map(([, page]) => page!);
    expect(pages.filter((page) => !existsSync(page))).toEqual([]);
  });
});
