import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadExtensions } from './extensions.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'switchyard-extensions-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function moduleOf(name: string, text: string): string {
  const file = path.join(folder, `${name}.mjs`);
  writeFileSync(file, text);
  return file;
}

describe('the extensions of an installation', () => {
  it('are none when none are named', async () => {
    expect(await loadExtensions(undefined)).toEqual({});
  });

  it('keep the order in which they are declared', async () => {
    const text = `export const enrichers = [(s, e) => e, (s, e) => []];
      export const converters = [{ eventTypes: ['task.created'], convert: () => [] }];`;
    const { converters, enrichers } = await loadExtensions(moduleOf('good', text));
    expect([converters?.length, enrichers?.map((enrich) => enrich.length)]).toEqual([1, [2, 2]]);
  });

  it.each([
    ['nothing', 'export const other = 1;'],
    ['a converter of no event', `export const converters = [{ eventTypes: ['task.nothing'], convert: () => [] }];`],
    ['an enricher that is no function', 'export const enrichers = [{}];'],
  ])('are refused with %s', async (what, text) => {
    const loading = loadExtensions(moduleOf(what.replaceAll(' ', '-'), text));
    await expect(loading).rejects.toThrow('AGUI_EXTENSIONS: the module exports something else');
  });

  it('are refused when the module cannot be loaded', async () => {
    await expect(loadExtensions(path.join(folder, 'none.mjs'))).rejects.toThrow(
      'AGUI_EXTENSIONS: the module cannot be loaded',
    );
  });
});
