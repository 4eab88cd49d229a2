import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ERRORS, EVENTS, FAILURES } from '#lib/domain';

/** The rows of the table below a heading, cell by cell; only rows that begin with a code. */
function rowsOf(file: string, heading: string): string[][] {
  const text = readFileSync(file, 'utf8');
  const from = text.indexOf(`\n## ${heading}\n`);
  expect(from).toBeGreaterThan(0);
  const section = text.slice(from + 1).split('\n## ')[0]!;
  return section.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return cells[1]?.startsWith('`') ? [cells.slice(1, -1)] : [];
  });
}

const code = (text: string): string => `\`${text}\``;

describe('docs/errors.md', () => {
  it('names every code of a request, its status, its title and whether to try again, and no other', () => {
    const rows = rowsOf('docs/errors.md', 'Requests');
    expect(rows.map((row) => row.slice(0, 4))).toEqual(
      Object.entries(ERRORS).map(([name, { status, title, retryable }]) => [
        code(name),
        String(status),
        retryable ? 'yes' : 'no',
        title,
      ]),
    );
    expect(rows.every(([, , , , hint]) => hint !== '')).toBe(true);
  });

  it('names every code of a failed task with its sentence, and no other', () => {
    expect(rowsOf('docs/errors.md', 'Failed tasks').map((row) => row.slice(0, 2))).toEqual(
      Object.entries(FAILURES).map(([name, meaning]) => [code(name), meaning]),
    );
  });
});

describe('docs/events.md', () => {
  it('names every event type with its level and the fields of its payload, and no other', () => {
    expect(rowsOf('docs/events.md', 'Types').map((row) => row.slice(0, 3))).toEqual(
      Object.entries(EVENTS).map(([type, { detail, fields }]) => [
        code(type),
        detail,
        Object.entries<string>(fields)
          .map(([name, kind]) => code(kind.endsWith('?') ? `${name}?` : name))
          .join(' '),
      ]),
    );
  });
});
