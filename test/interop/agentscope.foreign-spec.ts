import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import { compileClient, JavaClient, type JavaEvent } from './agentscope/java-client.js';

const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-agentscope-'));
const compiled = compileClient(folder);
if ('missing' in compiled) process.stdout.write(`AgentScope's client is not run: it needs ${compiled.missing}\n`);

let database: TestDatabase;
let installation: Installation;
let java: JavaClient;
let here: string;
let there: string;

const describeWithJava = 'missing' in compiled ? describe.skip : describe;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeWithJava("AgentScope's own Java client", () => {
  beforeAll(async () => {
    database = await createDatabase();
    installation = await Installation.start({
      databaseUrl: database.url,
      redisUrl: testRedisUrl(),
      gateways: 2,
      runtimes: 1,
      env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml') },
    });
    [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
    java = new JavaClient((compiled as { classPath: string }).classPath, folder, ADMIN_KEY);
  }, 120_000);

  afterAll(async () => {
    await java?.close();
    await installation?.stop();
    await database?.drop();
  });

  /** Connects to one gateway, then submits to the other, as a parent does. */
  async function spawnTask(agentId: string, input: string, more: object = {}): Promise<string> {
    const taskId = `task_${randomUUID()}`;
    await java.ask({ op: 'stream', url: here, taskId });
    await java.ask({ op: 'submit', url: there, taskId, agentId, input, detail: 'full', ...more });
    return taskId;
  }

  const told = (taskId: string, status: string): Promise<JavaEvent[]> =>
    until(() => {
      const events = java.eventsOf(taskId);
      return events.some(({ event }) => event.status === status) ? events : undefined;
    });

  const status = (taskId: string): Promise<unknown> => java.ask({ op: 'status', url: there, taskId });

  /** Each event that has a payload was restored from it, down to its id: none fell back to the flat fields. */
  function expectRestored(events: readonly JavaEvent[]): void {
    const sources = events.flatMap(({ event }) =>
      event.payload ? [JSON.parse(event.payload) as JavaEvent['decoded']] : [],
    );
    const restored = events.flatMap(({ event, decoded }) => (event.payload ? [decoded] : []));
    expect(restored.map((one) => [one?.type, one?.id])).toEqual(sources.map((one) => [one?.type, one?.id]));
  }

  it('streams a task it connected to before, polls it to its end and gets its result', async () => {
    const taskId = await spawnTask('scripted', 'The trams run again.');
    const events = await told(taskId, 'success');
    expect(events.map(({ event, decoded }) => [event.type, decoded?.type])).toEqual([
      ['RUN_STARTED', 'AGENT_START'],
      ['TEXT_DELTA', 'TEXT_BLOCK_DELTA'],
      ['RUN_FINISHED', 'AGENT_END'],
      ['STATUS', undefined],
    ]);
    expectRestored(events);
    expect(events[1]!.decoded).toMatchObject({ delta: 'The trams run again.', metadata: { taskId } });
    expect(await status(taskId)).toMatchObject({ isSuccess: true, isAwaiting: false, error: null });
    expect(await java.ask({ op: 'wait', url: here, taskId, seconds: 120 })).toBe('The trams run again.');
  });

  it.each([
    [true, ['TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_RESULT SUCCESS']],
    [false, ['TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_RESULT DENIED']],
  ])('is asked, and its approval %s is carried out', async (approved, calls) => {
    const taskId = await spawnTask('supervised', 'Go on.');
    const asked = await told(taskId, 'awaiting_confirm');
    const confirms = asked.filter(({ event }) => event.type === 'REQUIRE_CONFIRM').map(({ decoded }) => decoded);
    const call = { id: 'call_1', name: 'summarise', input: { text: 'One. Two.' }, state: 'asking' };
    expect(confirms).toMatchObject([
      { type: 'REQUIRE_USER_CONFIRM', toolCalls: [call] },
      { type: 'REQUIRE_USER_CONFIRM', toolCalls: [call] },
    ]);
    expect(await status(taskId)).toMatchObject({
      isAwaiting: true,
      pending: [{ toolCallId: 'call_1', toolName: 'summarise', toolInputJson: '{"text":"One. Two."}' }],
    });
    await java.ask({ op: 'resume', url: there, taskId, decisions: { call_1: approved } });
    const events = await told(taskId, 'success');
    const shown = events.map(({ event }) => `${event.type} ${event.status ?? ''}`.trim());
    expect(shown.filter((type) => type.startsWith('TOOL'))).toEqual(calls);
    expectRestored(events);
    expect(await java.ask({ op: 'wait', url: here, taskId, seconds: 120 })).toBe('decided');
    const again = java.ask({ op: 'resume', url: here, taskId, decisions: {} });
    await expect(again).rejects.toThrow(`HTTP 409 body={"error":"task is not awaiting confirmation: ${taskId}"}`);
  });

  it('restores every event of a task that tells everything, and never what it denied is done', async () => {
    const taskId = await spawnTask('caller', 'Go on.', { detail: 'verbose', deny: ['summarise'] });
    const events = await told(taskId, 'success');
    expectRestored(events);
    const types = new Set(events.map(({ decoded }) => decoded?.type));
    for (const type of ['AGENT_RESULT', 'TEXT_BLOCK_START', 'TOOL_CALL_DELTA', 'TOOL_RESULT_TEXT_DELTA'])
      expect(types).toContain(type);
    expect(events.find(({ event }) => event.type === 'TOOL_RESULT')?.event.status).toBe('DENIED');
  });

  it('restores what pauses and answers tell those who asked for everything', async () => {
    const taskId = await spawnTask('supervised', 'Go on.', { detail: 'verbose' });
    await told(taskId, 'awaiting_confirm');
    await java.ask({ op: 'resume', url: there, taskId, decisions: { call_1: true } });
    const events = await told(taskId, 'success');
    expectRestored(events);
    const types = events.map(({ decoded }) => decoded?.type);
    expect(types).toEqual(expect.arrayContaining(['REQUEST_STOP', 'USER_CONFIRM_RESULT', 'TOOL_RESULT_START']));
  });

  it('cancels, and finds the task cancelled', async () => {
    const taskId = await spawnTask('endless', 'Go on.');
    await until(() => java.eventsOf(taskId).length > 0);
    await java.ask({ op: 'cancel', url: there, taskId });
    await told(taskId, 'cancelled');
    expect(await status(taskId)).toMatchObject({ isCancelled: true, isFailure: false });
    await java.ask({ op: 'cancel', url: there, taskId });
  });

  it('takes what is unknown for a failure, and what is refused for an error', async () => {
    expect(await status('nothing')).toMatchObject({ isFailure: true, error: 'task not found' });
    const refused = java.ask({ op: 'submit', url: there, taskId: 't', agentId: 'nobody', input: '', detail: 'full' });
    await expect(refused).rejects.toThrow('submitTask failed: HTTP 422');
  });

  describe('in a parent agent', () => {
    const spawn = async (agentId: string, policy: 'DENY' | 'PROPAGATE'): Promise<[reply: string, types: string[]]> => {
      java.forwarded.length = 0;
      const reply = await java.ask({ op: 'spawn', url: here, agentId, input: 'Go on.', policy });
      expect(java.forwarded.every(({ source }) => source === `s1/${agentId}`)).toBe(true);
      return [String(reply), java.forwarded.map(({ type }) => type)];
    };

    it('has its events forwarded and its reply taken', async () => {
      const [reply, types] = await spawn('scripted', 'DENY');
      expect(reply).toMatch(/status: ok\nreply:\nGo on\.$/);
      expect(types).toEqual(['AGENT_START', 'TEXT_BLOCK_DELTA', 'AGENT_END']);
    });

    it('is denied by a parent that asks nobody, and goes on', async () => {
      const [reply, types] = await spawn('supervised', 'DENY');
      expect(reply).toMatch(/status: ok\nnote: remote tool confirmation\(s\) were auto-denied\nreply:\ndecided$/);
      expect(types.filter((type) => type === 'REQUIRE_USER_CONFIRM')).toHaveLength(2);
      expect(types.at(-1)).toBe('AGENT_END');
    });

    it('is answered by somebody else while its parent waits', async () => {
      const spawned = spawn('supervised', 'PROPAGATE');
      const [asked] = await until(() => {
        const asks = java.forwarded.filter(({ type }) => type === 'REQUIRE_USER_CONFIRM');
        return asks.length > 0 ? asks : undefined;
      });
      const taskId = String(asked!.metadata['taskId']);
      await java.ask({ op: 'resume', url: there, taskId, decisions: { call_1: true } });
      const [reply, types] = await spawned;
      expect(reply).toMatch(/status: ok\nreply:\ndecided$/);
      expect(types).toContain('TOOL_RESULT_END');
    });

    it('fails with what we say of it', async () => {
      expect((await spawn('nobody', 'DENY'))[0]).toContain('status: error');
    });
  });
});
