// A file that scripts of the product's runner wait for: until it is there, nothing happens.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export function createGate() {
  const dir = mkdtempSync(path.join(tmpdir(), 'switchyard-gate-'));
  const file = path.join(dir, 'open');
  return {
    file,
    open: () => writeFileSync(file, ''),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
