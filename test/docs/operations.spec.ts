import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SETTINGS as GATEWAY } from '../../apps/gateway/src/config.js';
import { SETTINGS as MIGRATE } from '../../apps/migrate/src/config.js';
import { SETTINGS as RUNTIME } from '../../apps/runtime/src/config.js';
import { METRICS, type MetricSpec } from '#lib/domain';
import type { SettingTable } from '#lib/platform';

const TABLES: Readonly<Record<string, SettingTable>> = { gateway: GATEWAY, runtime: RUNTIME, migrate: MIGRATE };

interface Row {
  name: string;
  readBy: string;
  default: string;
}

function documented(): Row[] {
  const section = /^## Environment$([\s\S]*?)^## /m.exec(readFileSync('docs/operations.md', 'utf8'))?.[1] ?? '';
  return section.split('\n').flatMap((line) => {
    const [, name = '', readBy = '', fallback = '', meaning = ''] = line.split('|').map((cell) => cell.trim());
    expect(name === '' || meaning !== '').toBe(true);
    return name.startsWith('`') ? [{ name: name.replaceAll('`', ''), readBy, default: fallback }] : [];
  });
}

function defaultOf({ required, default: text, unit }: SettingTable[string]): string {
  if (required) return 'required';
  if (text === undefined) return '';
  return unit === undefined ? `\`${text}\`` : `\`${text}\` ${unit}`;
}

function known(): Row[] {
  const names = new Set(Object.values(TABLES).flatMap((table) => Object.keys(table)));
  return [...names].map((name) => {
    const readers = Object.entries(TABLES).filter(([, table]) => name in table);
    const defaults = new Set(readers.map(([, table]) => defaultOf(table[name]!)));
    return { name, readBy: readers.map(([process]) => process).join(', '), default: [...defaults].join(' or ') };
  });
}

const byName = (one: Row, other: Row): number => one.name.localeCompare(other.name);

describe('docs/operations.md', () => {
  it('names every environment variable the processes read, who reads it and its default, and no other', () => {
    expect(documented().sort(byName)).toEqual(known().sort(byName));
  });

  it('names every metric, its kind, who has it, its labels and what it says, and no other', () => {
    const section =
      /^## Metrics$([\s\S]*?)^Worth an alert/m.exec(readFileSync('docs/operations.md', 'utf8'))?.[1] ?? '';
    const rows = section.split('\n').flatMap((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      return cells[1]?.startsWith('`') ? [cells.slice(1, -1)] : [];
    });
    expect(rows).toEqual(
      Object.entries<MetricSpec>(METRICS).map(([name, { kind, of, labels, help }]) => [
        `\`${name}\``,
        kind,
        of === 'both' ? 'gateway, runtime' : of,
        labels.map((label) => `\`${label}\``).join(' '),
        help,
      ]),
    );
  });

  it('speaks of no metric of ours that there is not', () => {
    const named = readFileSync('docs/operations.md', 'utf8').match(/switchyard_\w+_\w+/g) ?? [];
    expect(named.filter((name) => !(name in METRICS))).toEqual([]);
  });
});
