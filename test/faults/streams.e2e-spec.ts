import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { atFullSize } from '../support/full-size.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';

const MIB = 1_048_576;
const CUTS = atFullSize(1_000, 200);

describeEachBackingSet(({ redisUrl }) => {
  let test: TestDatabase;
  let installation: Installation;

  beforeAll(async () => {
    test = await createDatabase();
    installation = await Installation.start({ databaseUrl: test.url, redisUrl, gateways: 2, runtimes: 1 });
  }, 60_000);

  afterAll(async () => {
    await installation.stop();
    await test.drop();
  }, 60_000);

  /** A task of so many events in bursts, and five more: created, started, the answer begun and completed, succeeded. */
  async function submit(bursts: number, perBurst: number, text: string): Promise<{ taskId: string; lastSeq: number }> {
    const event = { type: 'agent.event', payload: { framework: 'test', event: { n: '{i}', text } } };
    const script = Array.from({ length: bursts }, () => [{ repeat: perBurst, event }, { wait_ms: 20 }]).flat();
    const body = {
      agent_id: 'scripted',
      input: { script: [...script, { result: 'done' }] },
      context: { detail: 'verbose' },
    };
    const answer = await call(`${installation.gateways[0]!.url}/v1/tasks`, { body });
    expect(answer.status).toBe(202);
    return { taskId: String(answer.body['task_id']), lastSeq: bursts * perBurst + 5 };
  }

  function open(gateway: number, taskId: string, afterSeq: number): Promise<EventStream> {
    const url = `${installation.gateways[gateway]!.url}/v1/tasks/${taskId}/events`;
    return EventStream.open(url, { key: ADMIN_KEY, headers: { 'last-event-id': String(afterSeq) } });
  }

  async function idsOf(stream: EventStream): Promise<number[]> {
    const ids: number[] = [];
    for await (const { id } of stream) if (id !== undefined) ids.push(Number(id));
    return ids;
  }

  const range = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

  describe('a stream', () => {
    it(`of 5,000 events, cut at ${CUTS} random points and taken up again at either gateway, has every event once`, async () => {
      const { taskId, lastSeq } = await submit(100, 50, 'x');
      // Where it is cut differs from run to run, how often does not.
      const cuts = new Set<number>();
      while (cuts.size < CUTS) cuts.add(1 + Math.floor(Math.random() * (lastSeq - 1)));
      const seen: number[] = [];
      let connections = 0;
      while (seen.at(-1) !== lastSeq) {
        const stream = await open(connections++ % 2, taskId, seen.at(-1) ?? 0);
        for await (const { id } of stream) {
          if (id === undefined) continue;
          seen.push(Number(id));
          if (cuts.has(Number(id))) break;
        }
        stream.close();
      }
      expect(connections).toBe(CUTS + 1);
      expect(seen).toEqual(range(lastSeq));
    }, 90_000);

    it('that is cut when its gateway dies has no end, unlike one that is complete', async () => {
      const dying = await installation.addGateway();
      const { taskId, lastSeq } = await submit(100, 2, 'x');
      const stream = await open(installation.gateways.indexOf(dying), taskId, 0);
      let last = 0;
      const read = async (): Promise<void> => {
        for await (const { id } of stream) {
          last = Number(id);
          if (last === 5) void dying.end('SIGKILL');
        }
      };
      await expect(read()).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect(last).toBeLessThan(lastSeq);
      installation.gateways.splice(installation.gateways.indexOf(dying), 1);
      expect((await idsOf(await open(0, taskId, last))).at(-1)).toBe(lastSeq);
    }, 60_000);

    it('of 10,000 events costs a gateway no memory for ten readers who do not read, while others get everything', async () => {
      const [gateway] = installation.gateways;
      const rss = (): number =>
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway!.pid}/status`, 'utf8'))?.[1]) * 1024;
      // What a gateway needs to serve such a stream at all is not what slow readers cost.
      const warm = await submit(100, 100, 'x'.repeat(1_000));
      await idsOf(await open(0, warm.taskId, 0));
      const before = rss();
      const { taskId, lastSeq } = await submit(100, 100, 'x'.repeat(1_000));
      const slow = await Promise.all(range(10).map(() => open(0, taskId, 0)));
      for (const stream of slow) stream.pause();
      let peak = before;
      const watch = setInterval(() => (peak = Math.max(peak, rss())), 50);
      try {
        const quick = await Promise.all([0, 1].map(async (at) => idsOf(await open(at, taskId, 0))));
        expect(quick).toEqual([range(lastSeq), range(lastSeq)]);
        expect(peak - before).toBeLessThan(64 * MIB);
      } finally {
        clearInterval(watch);
        for (const stream of slow) stream.close();
      }
    }, 90_000);
  });
});
