import { describe, expect, it } from '@jest/globals';
import { type DatabaseFault, DatabaseHealth, UnavailableError } from '#lib/domain';
import { MemoryEventBus } from '../../../test/support/memory-event-bus.js';
import { Readiness } from './readiness.js';

class FixedHealth extends DatabaseHealth {
  constructor(private readonly answer: () => Promise<readonly DatabaseFault[]>) {
    super();
  }

  override faults(): Promise<readonly DatabaseFault[]> {
    return this.answer();
  }
}

class DeadBus extends MemoryEventBus {
  override ping(): Promise<void> {
    return Promise.reject(new UnavailableError('down'));
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

function readiness(answer: () => Promise<readonly DatabaseFault[]>, bus = new MemoryEventBus()): Readiness {
  const serving = new Readiness(new FixedHealth(answer), bus);
  serving.become('serving');
  return serving;
}

describe('a process', () => {
  it('is ready while the database serves', async () => {
    expect(await readiness(async () => []).check()).toEqual({ missing: [], degraded: [], notes: [] });
  });

  it('stays ready without a bus, and says so', async () => {
    expect(await readiness(async () => [], new DeadBus()).check()).toEqual({
      missing: [],
      degraded: ['bus'],
      notes: [],
    });
  });

  it.each([
    ['rejects', () => Promise.reject(new UnavailableError('down')), ['postgres']],
    ['does not answer', () => never<readonly DatabaseFault[]>(), ['postgres']],
    ['lacks a partition', async () => ['partitions' as const], ['partitions']],
  ])('is not ready when the database %s', async (_, answer, missing) => {
    const startedMs = performance.now();
    expect((await readiness(answer).check()).missing).toEqual(missing);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('is not ready before it serves', async () => {
    const starting = new Readiness(new FixedHealth(async () => []), new MemoryEventBus());
    expect((await starting.check()).missing).toEqual(['starting']);
  });

  it('is not ready once it stops', async () => {
    const stopping = readiness(async () => []);
    stopping.become('stopping');
    expect((await stopping.check()).missing).toEqual(['stopping']);
  });
});
