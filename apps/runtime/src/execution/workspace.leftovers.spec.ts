import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nameRuntime, removeLeftovers } from './workspace.leftovers.js';

let root: string;
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'switchyard-leftovers-'));
});
afterAll(() => rmSync(root, { recursive: true }));

describe('workspaces left behind', () => {
  it('go when their process has ended on this host or their name starts anew; all others stay', async () => {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    const [dead, alive, elsewhere] = [
      nameRuntime('my host', gone, Buffer.from('abcdef', 'hex')),
      nameRuntime('my host', process.pid, Buffer.from('abcdef', 'hex')),
      nameRuntime('other', gone, Buffer.from('abcdef', 'hex')),
    ];
    for (const name of [dead, alive, elsewhere, 'worker-1', 'worker-2', `notes-${gone}`]) {
      mkdirSync(path.join(root, name, 'task-1'), { recursive: true });
      writeFileSync(path.join(root, name, 'task-1', 'file'), 'x');
    }
    expect([...(await removeLeftovers(path.join(root, 'worker-1'), 'my host'))].sort()).toEqual([dead, 'worker-1']);
    expect(readdirSync(root).sort()).toEqual([alive, `notes-${gone}`, elsewhere, 'worker-2'].sort());
  });

  it('are no matter where there never were any', async () => {
    expect(await removeLeftovers(path.join(root, 'none', 'worker-1'), 'my host')).toEqual([]);
  });
});
