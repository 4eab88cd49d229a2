import { describe, expect, it } from '@jest/globals';
import type { RunnerAdapter } from '#lib/adapters/contract';
import { scriptedDescriptor } from '../../../../test/support/scripted/index.js';
import { AdapterHost } from './adapter.host.js';

const environment = { databaseUrl: '', executeModelCode: false };

function adapterThat(closes: () => void): RunnerAdapter {
  return { start: async function* () {}, health: async () => undefined, close: async () => closes() };
}

describe('the host of adapters', () => {
  it('makes an adapter for the first run of its kind, and no other, and closes what it has made', async () => {
    const told: string[] = [];
    const host = new AdapterHost(
      ['one', 'two'].map((kind) => ({
        descriptor: { ...scriptedDescriptor, kind },
        create: async () => {
          told.push(`${kind} made`);
          return adapterThat(() => told.push(`${kind} closed`));
        },
      })),
      environment,
    );
    expect(host.kinds).toEqual(['one', 'two']);
    const [first, second] = await Promise.all([host.adapter('one'), host.adapter('one')]);
    expect(first).toBe(second);
    await host.close();
    expect(told).toEqual(['one made', 'one closed']);
  });

  it('tries again for the next run what could not be made', async () => {
    let attempts = 0;
    const create = async (): Promise<RunnerAdapter> => {
      attempts += 1;
      if (attempts === 1) throw new Error('no memory');
      return adapterThat(() => undefined);
    };
    const host = new AdapterHost([{ descriptor: scriptedDescriptor, create }], environment);
    await expect(host.adapter(scriptedDescriptor.kind)).rejects.toThrow('no memory');
    await expect(host.adapter(scriptedDescriptor.kind)).resolves.toBeDefined();
    await host.close();
    expect(attempts).toBe(2);
  });
});
