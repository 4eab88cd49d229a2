import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskKey } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeModelEndpoint, type Reply } from '../../../../test/support/fake-model-endpoint.js';
import { until } from '../../../../test/support/until.js';
import type { RunContext, RunnerItem } from '../contract/index.js';
import { createWorkflowAdapter, setUpCheckpoints } from './index.js';
import { planSite } from './site.planner.js';
import { writeSite } from './site.writer.js';

const KEY = 'sk-secret-of-the-endpoint';
const PLAN = { ...planSite('a cat board with name, breed and age; like button'), title: 'Cats of the model' };
const USAGE = { prompt_tokens: 100, completion_tokens: 20 };
const GOOD: Reply = { text: ['```json\n', JSON.stringify(PLAN), '\n```'], usage: USAGE };

let database: TestDatabase;
let endpoint: FakeModelEndpoint;
let workspace: string;
let tasks = 0;

beforeAll(async () => {
  database = await createDatabase();
  await setUpCheckpoints(database.url);
});
afterEach(async () => {
  await endpoint.stop();
  await rm(workspace, { recursive: true });
});
afterAll(() => database.drop());

interface Given {
  readonly script: readonly Reply[];
  readonly context?: Partial<RunContext>;
  readonly execute?: boolean;
  readonly signal?: AbortSignal;
}

async function play({ script, context = {}, execute = false, signal }: Given): Promise<RunnerItem[]> {
  endpoint = await FakeModelEndpoint.start(script);
  workspace = await mkdtemp(join(tmpdir(), 'workflow-'));
  tasks += 1;
  const adapter = createWorkflowAdapter({
    databaseUrl: database.url,
    executeModelCode: execute,
    model: { baseUrl: endpoint.baseUrl, apiKey: KEY, name: 'planner-1' },
  });
  const items: RunnerItem[] = [];
  try {
    const run: RunContext = {
      taskKey: `model-task-${String(tasks)}` as TaskKey,
      taskId: 'task',
      runNo: 1,
      tenant: 'default',
      agentId: 'site-builder',
      input: 'a guest book with name and message',
      context: {},
      attributes: { secret: 'never-shown' },
      options: {},
      detail: 'verbose',
      tools: { list: [], call: () => Promise.reject(new Error('no tools')) },
      taskToken: () => Promise.reject(new Error('no tokens')),
      files: [],
      clientTools: [],
      workspace,
      budgets: {},
      ...context,
    };
    for await (const item of adapter.start(run, signal ?? new AbortController().signal)) items.push(item);
    return items;
  } finally {
    await adapter.close();
  }
}

function resultOf(items: readonly RunnerItem[]): {
  text: string;
  data: Record<string, unknown>;
  metadata: unknown;
  usage: unknown;
} {
  const last = items.at(-1);
  if (last?.kind !== 'result') throw new Error('the run did not end with a result');
  return { ...last.result, data: last.result.data as Record<string, unknown>, usage: last.usage };
}

function typesOf(items: readonly RunnerItem[], pattern: RegExp): string[] {
  return items.flatMap((item) => (item.kind === 'event' && pattern.test(item.type) ? [item.type] : []));
}

function systemOf(request: Record<string, unknown> | undefined): string {
  return JSON.stringify((request?.messages as unknown[] | undefined)?.[0]);
}

/** The template's own code as if a model had written it, in one file. */
function codeReply(change: (server: string) => string): Reply {
  const files = Object.fromEntries(writeSite(PLAN).map(({ name, content }) => [name, content]));
  const records = (files['records.mjs'] ?? '').replaceAll('export function', 'function');
  const server = `${(files['server.mjs'] ?? '').replace(/import .*records\.mjs';\n/, '')}\n${records}`;
  const { 'index.html': page, 'style.css': style, 'app.js': script } = files;
  const written = { 'index.html': page, 'style.css': style, 'app.js': script, 'server.mjs': change(server) };
  return { text: [JSON.stringify({ files: written })], usage: USAGE };
}

describe('planning with an OpenAI-compatible model', () => {
  it('builds the plan of the model, and names it', async () => {
    const items = await play({ script: [GOOD] });
    const { data, metadata, usage } = resultOf(items);
    expect(data).toMatchObject({ title: 'Cats of the model', tests: { failed: 0 } });
    expect(metadata).toEqual({ model: 'planner-1' });
    expect(usage).toEqual({ input_tokens: 100, output_tokens: 20 });
    expect(endpoint.authorizations).toEqual([`Bearer ${KEY}`]);
    expect(JSON.stringify(endpoint.requests)).not.toContain('never-shown');
  });

  it('asks once more when the plan breaks the schema, saying what was wrong', async () => {
    const items = await play({ script: [{ text: [JSON.stringify({ ...PLAN, fields: [] })] }, GOOD] });
    expect(typesOf(items, /^step\.retrying$/)).toHaveLength(1);
    expect(systemOf(endpoint.requests[1])).toContain('does not follow the schema');
    expect(resultOf(items).metadata).toEqual({ model: 'planner-1' });
  });

  it.each<[string, Reply]>([
    ['no plan', { text: ['I would rather not.'] }],
    ['an error', { status: 503, body: JSON.stringify({ error: { message: `no quota for ${KEY}` } }) }],
    ['a broken stream', { text: ['{"language":'], end: 'cut' }],
  ])('plans by rule after two times %s, and says so', async (_, reply) => {
    const items = await play({ script: [reply] });
    expect(endpoint.requests).toHaveLength(2);
    expect(typesOf(items, /^step\.retrying$/)).toHaveLength(1);
    expect(resultOf(items)).toMatchObject({
      data: { title: 'Guest book', tests: { failed: 0 } },
      metadata: { model: 'local', configured_model: 'planner-1', local_fallback: ['plan'] },
    });
    expect(JSON.stringify(items)).not.toContain(KEY);
  });

  it('ends as a spent budget rather than ask more often than allowed', async () => {
    const run = play({ script: [{ text: ['no'] }], context: { budgets: { modelCalls: 1 } } });
    await expect(run).rejects.toMatchObject({ name: 'BudgetError' });
    expect(endpoint.requests).toHaveLength(1);
  });

  it('leaves a silent endpoint at once when it is stopped', async () => {
    const abort = new AbortController();
    const before = endpoint;
    const run = play({ script: [{ end: 'hang' }], signal: abort.signal });
    await until(() => endpoint !== before && endpoint.requests.length > 0);
    abort.abort();
    await expect(run).rejects.toMatchObject({ kind: 'cancelled' });
    await until(() => endpoint.openRequests === 0);
  });
});

describe('code a model wrote', () => {
  let witness: FakeModelEndpoint;
  /** Code that tells the witness that it runs. */
  const telling = (server: string): string =>
    `await fetch('${witness.baseUrl}', { method: 'POST', body: '{}' });\n${server}`;
  const options = { code: 'model' };

  beforeEach(async () => {
    witness = await FakeModelEndpoint.start([{ status: 200 }]);
  });
  afterEach(() => witness.stop());

  it('is parsed and packaged, but not run, unless the operator allows it', async () => {
    const items = await play({ script: [GOOD, codeReply(telling)], context: { options } });
    const { text, data, metadata } = resultOf(items);
    expect(text).toContain('parsed, not run');
    expect(metadata).toEqual({ model: 'planner-1' });
    expect(data).toMatchObject({ tests: { failed: 0 } });
    expect(data.files).not.toContain('records.mjs');
    expect(witness.requests).toEqual([]);
  });

  it('is run and tested where the operator allows it', async () => {
    const items = await play({ script: [GOOD, codeReply(telling)], context: { options }, execute: true });
    const { text, data } = resultOf(items);
    expect(text).not.toContain('not run');
    expect(witness.requests).not.toEqual([]);
    expect((data.tests as { passed: number }).passed).toBeGreaterThan(15);
    expect(data.tests).toMatchObject({ failed: 0 });
  });

  it('gives way to the templates when it cannot be parsed twice', async () => {
    const items = await play({
      script: [GOOD, codeReply((server) => `${server}\nlet = ;`)],
      context: { options },
      execute: true,
    });
    expect(systemOf(endpoint.requests[2])).toContain('server.mjs: SyntaxError');
    expect(resultOf(items).metadata).toEqual({
      model: 'planner-1',
      configured_model: 'planner-1',
      local_fallback: ['code'],
    });
  });

  it('counts as failed tests when it does not start, without failing the task', async () => {
    const items = await play({
      script: [GOOD, codeReply(() => 'process.exit(1);')],
      context: { options },
      execute: true,
    });
    expect(resultOf(items).data.tests).toMatchObject({ failed: expect.any(Number) });
    expect(resultOf(items).text).toMatch(/Failed: .*starts/);
  });
});
