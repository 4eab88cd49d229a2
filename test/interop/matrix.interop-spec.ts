import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { agentProtocol } from './drivers/agent-protocol.driver.js';
import { agentScope } from './drivers/agentscope.driver.js';
import { agUi } from './drivers/ag-ui.driver.js';
import { chat } from './drivers/chat.driver.js';
import type { Driver, Place } from './drivers/driver.js';
import { a2a } from './drivers/a2a.driver.js';
import { native } from './drivers/native.driver.js';
import { stepStream } from './drivers/step-stream.driver.js';

/** Every protocol there is. */
const DRIVERS: readonly Driver[] = [native, agentScope, agentProtocol, stepStream, a2a, agUi, chat];

let database: TestDatabase;
let installation: Installation;
/** One gateway to create by, another to do everything else by. */
let here: Place;
let there: Place;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml'), CHAT_ON_INTERRUPT: 'tool_call' },
  });
  [here, there] = installation.gateways.map(({ url }) => ({ url, key: ADMIN_KEY })) as [Place, Place];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

const watchers = DRIVERS.filter((driver) => driver.watch);
const deciders = DRIVERS.filter((driver) => driver.decide);
const cancellers = DRIVERS.filter((driver) => driver.cancel);

describe.each(DRIVERS)('a task created by $name', (creator) => {
  it.each(watchers)('is seen to succeed by $name, with its answer', async ({ watch }) => {
    const id = await creator.create(here, 'scripted', 'The trams run again.');
    expect(await watch!(there, id)).toEqual({ state: 'succeeded', text: 'The trams run again.' });
  });

  it.each(deciders)('is approved by $name, and does what it asked for', async ({ watch = native.watch!, decide }) => {
    const id = await creator.create(here, 'supervised', 'Go on.');
    expect(await watch(there, id)).toMatchObject({ state: 'waiting' });
    await decide!(there, id, true);
    expect(await watch(there, id)).toEqual({ state: 'succeeded', text: 'decided' });
    expect(await callsOf(id)).toEqual(['tool.invoked', 'tool.completed']);
  });

  it.each(deciders)('is denied by $name, and leaves it out', async ({ watch = native.watch!, decide }) => {
    const id = await creator.create(here, 'supervised', 'Go on.');
    expect(await watch(there, id)).toMatchObject({ state: 'waiting' });
    await decide!(there, id, false);
    expect(await watch(there, id)).toEqual({ state: 'succeeded', text: 'decided' });
    expect(await callsOf(id)).toEqual(['tool.denied']);
  });

  it.each(cancellers)('is cancelled by $name', async ({ cancel }) => {
    const id = await creator.create(here, 'endless', 'Go on.');
    await cancel!(there, id);
    expect(await native.watch!(there, id)).toMatchObject({ state: 'cancelled' });
  });
});

it('is told in docs/protocols/README.md, for each protocol what it can do', () => {
  const table = readFileSync('docs/protocols/README.md', 'utf8').split('## What each can finish')[1]!;
  const rows = [...table.matchAll(/^\|(.+)\|$/gm)].map(([, row]) => row!.split('|').map((cell) => cell.trim()));
  const told = rows.slice(2).map((cells) => cells.slice(0, 6));
  const word = (has: unknown): string => (has ? 'yes' : 'no');
  expect(told).toEqual(
    DRIVERS.map(({ name, watch, decide, cancel }) => [
      ...[name, 'yes', word(watch), word(decide), word(decide), word(cancel)],
    ]),
  );
});

it('leaves nothing of the protocols that are switched off', async () => {
  const names = ['AGENTSCOPE', 'AGENT_PROTOCOL', 'A2A', 'AGUI', 'CHAT'];
  const off = Object.fromEntries(names.map((name) => [`${name}_ENABLED`, 'false']));
  const { url } = await installation.addGateway(off);
  const routesOf = async (origin: string): Promise<string[]> => {
    const { paths } = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
    return Object.keys(paths);
  };
  const [all, left] = await Promise.all([routesOf(here.url), routesOf(url)]);
  const gone = all.filter((route) => !left.includes(route));
  expect(left.filter((route) => !/^\/(v1|health|metrics|docs|\.well-known\/jwks)/.test(route))).toEqual([]);
  expect(gone.length).toBeGreaterThan(30);
  for (const route of gone) {
    const response = await fetch(`${url}${route.replace(/\{\w+\}/g, 'x')}`);
    expect([route, response.status]).toEqual([route, 404]);
  }
});

/** Types of the events of its calls. */
async function callsOf(id: string): Promise<string[]> {
  const response = await fetch(`${there.url}/v1/tasks/${id}/events?limit=500`, {
    headers: { authorization: `Bearer ${there.key}`, accept: 'application/json' },
  });
  const { events } = (await response.json()) as { events: { event_type: string }[] };
  return events.map(({ event_type }) => event_type).filter((type) => type.startsWith('tool.'));
}
