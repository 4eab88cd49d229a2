import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as newman from 'newman';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { assertProjections } from '../support/projections.js';
import { testRedisUrl } from '../support/redis.js';

/** The official collection is no part of this project: its licence lets us run it, and whoever has a copy keeps it beside the clone. */
const COLLECTION = path.resolve('..', 'shared', 'contracts', 'vendor', 'agent-protocol-v1.postman.json');

let database: TestDatabase;
let installation: Installation;
let url: string;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml'), AGENT_PROTOCOL_STEP_SECONDS: '2' },
  });
  url = installation.gateways[0]!.url;
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  try {
    // What was held, released, given files and expired is as the log says, too.
    if (installation) await assertProjections(database.url);
  } finally {
    await database?.drop();
  }
});

const whenThere = existsSync(COLLECTION) ? describe : describe.skip;

whenThere('the official collection', () => {
  it(`passes: 12 requests, 26 assertions (needs ${path.basename(COLLECTION)} beside the clone)`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-newman-'));
    try {
      writeFileSync(path.join(folder, 'test_output.txt'), 'washington');
      const { run } = await collect(folder);
      expect(run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`)).toEqual([]);
      expect([run.stats.requests.total, run.stats.assertions.total, run.stats.assertions.failed]).toEqual([12, 26, 0]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: { header?: { key: string; value: string }[] };
  readonly event?: unknown;
}

/** Runs it against the gateway, with a key on every request; the collection knows no authentication. */
function collect(folder: string): Promise<newman.RunSummary> {
  const collection = JSON.parse(readFileSync(COLLECTION, 'utf8')) as { item: Item[] };
  return new Promise((resolve, reject) => {
    newman.run(
      {
        collection: { ...collection, auth: { type: 'bearer', bearer: [{ key: 'token', value: ADMIN_KEY }] } },
        envVar: [{ key: 'url', value: url }],
        workingDir: folder,
        reporters: [],
      },
      (error, summary) => (error ? reject(error) : resolve(summary)),
    );
  });
}
