import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CATALOG } from './catalog.js';
import { REGISTRY } from './registry.js';

const root = import.meta.dirname;
const folders = readdirSync(root, { withFileTypes: true })
  .map(({ name }) => name)
  .filter((name) => existsSync(path.join(root, name, `${name}.adapter.ts`)));

it('lists every folder in the catalogue and the registry, and nothing else', () => {
  expect(CATALOG.map(({ kind }) => kind).sort()).toEqual(folders.sort());
  expect(REGISTRY.map(({ descriptor }) => descriptor.kind).sort()).toEqual(folders.sort());
});

it('has a conformance run for every folder', () => {
  const runs = folders.filter((folder) =>
    readdirSync(path.join(root, folder)).some(
      (file) =>
        /spec\.ts$/.test(file) && readFileSync(path.join(root, folder, file), 'utf8').includes('describeConformance('),
    ),
  );
  expect(runs).toEqual(folders);
});
