import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const table = readFileSync('test/faults/README.md', 'utf8');
const rows = [...table.matchAll(/^\| (\S.*?) +\| (\S+) › (.+?) +\|$/gm)].map(([, name, file, title]) => ({
  name: name!,
  file: file!,
  title: title!,
}));

describe('the table of faults', () => {
  it('has many rows', () => {
    expect(rows.length).toBeGreaterThan(35);
  });

  it.each(rows)('$name: the test it names is there', ({ file, title }) => {
    expect(existsSync(file)).toBe(true);
    const titles = [...readFileSync(file, 'utf8').matchAll(/\(\s*(['`])((?:\\.|(?!\1)[^\\])+)\1,/g)].map(
      ([, , text]) => text,
    );
    expect(titles).toContain(title);
  });
});
