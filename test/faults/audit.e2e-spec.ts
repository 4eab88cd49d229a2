import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { describe as inWords, ExportVerifier, parseHeadKeys } from '#lib/audit';
import { mintAuditKey } from '../support/audit.js';
import { Chance } from '../support/chance.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { atFullSize } from '../support/full-size.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { until } from '../support/until.js';

const RECORDS = atFullSize(10_000, 250);
const WRITERS = 64;
const KILLS = atFullSize(12, 1);

jest.setTimeout(atFullSize(600_000, 120_000));

const key = mintAuditKey();
let folder: string;
let database: TestDatabase;
let installation: Installation;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  await writeFile(path.join(folder, 'key.pem'), key.pem, { mode: 0o600 });
  database = await createDatabase();
  const env = { AUDIT_KEY_FILE: path.join(folder, 'key.pem') };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 2, runtimes: 0, env });
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  await rm(folder, { recursive: true });
});

/** Submits until so many were acknowledged by all; whoever meets a dead gateway goes to another. */
async function write(acked: string[]): Promise<void> {
  while (acked.length < RECORDS) {
    const id = randomUUID();
    const gateways = installation.gateways;
    const { url } = gateways[Math.floor(Math.random() * gateways.length)]!;
    const body = { task_id: id, agent_id: 'scripted', input: { script: [] } };
    const status = await call(`${url}/v1/tasks`, { body }).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 202) acked.push(id);
  }
}

describe('the audit trail', () => {
  it(`of ${WRITERS} writers at two gateways that are killed again and again is one chain that verifies`, async () => {
    const chance = new Chance(Math.floor(Math.random() * 2 ** 31));
    const acked: string[] = [];
    const writers = Array.from({ length: WRITERS }, () => write(acked));
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const due = Math.floor((RECORDS * kill) / (KILLS + 1));
      await until(() => acked.length >= due, { timeoutMs: 300_000 });
      const victim = chance.between(0, installation.gateways.length - 1);
      const [member] = installation.gateways.splice(victim, 1);
      await member!.end('SIGKILL');
      await installation.addGateway();
    }
    await Promise.all(writers);
    const { url } = installation.gateways[0]!;
    const export_ = async (): Promise<string[]> => {
      const response = await fetch(`${url}/v1/audit/export?tenant=*`, { headers: { 'x-api-key': ADMIN_KEY } });
      return (await response.text()).trimEnd().split('\n');
    };
    let lines: string[] = [];
    const isSealed = async (): Promise<boolean> => {
      lines = await export_();
      return acked.every((id) => lines.some((line) => line.includes(id))) && !lines.some(isUnsealedSubmit);
    };
    await until(isSealed, { timeoutMs: 60_000, what: 'every record to be sealed' });
    const verifier = new ExportVerifier({ keys: parseHeadKeys(key.publicPem)!, checkpoints: [] });
    const targets = new Map<string, number>();
    lines.forEach((text, index) => {
      const line = JSON.parse(text) as { type: string; record?: { action: string; target: string; at: string } };
      verifier.add(line, index + 1);
      if (line.type !== 'record' || line.record?.action !== 'task.submit') return;
      targets.set(line.record.target, (targets.get(line.record.target) ?? 0) + 1);
      expect(line.record.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    });
    const { findings } = verifier.end();
    expect(findings.map(inWords)).toEqual([]);
    expect(acked.filter((id) => targets.get(id) !== 1)).toEqual([]);
    expect([...targets.values()].every((records) => records === 1)).toBe(true);
  });
});

function isUnsealedSubmit(line: string): boolean {
  return line.startsWith('{"type":"unsealed"') && line.includes('"action":"task.submit"');
}
