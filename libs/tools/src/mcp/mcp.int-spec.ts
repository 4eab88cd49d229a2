import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ToolSource } from '#lib/tools';
import { type RealMcpServer, realMcpServer } from '../../../../test/support/mcp-servers.js';
import { ToolBench } from '../../../../test/support/tool-bench.js';
import { until } from '../../../../test/support/until.js';

const SECRET = 'k3y-of-the-mcp-server';
const ECHO = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const text = (said: string): object => ({ content: [{ type: 'text', text: said }] });

let server: RealMcpServer;
let bench: ToolBench;

beforeAll(async () => {
  server = await realMcpServer({
    echo: {
      description: 'Says it again.',
      inputSchema: ECHO,
      answer: ({ text: said }, headers, meta) => text(JSON.stringify({ said, key: headers['x-key'], meta })),
    },
    'list.files': {
      description: 'Lists.',
      inputSchema: { type: 'object', properties: {} },
      answer: () => text('none'),
    },
  });
  bench = await ToolBench.open({ secrets: { TOOL_SECRET_MCP: SECRET }, stdio: 'file' });
});

afterAll(async () => {
  await bench?.close();
  await server?.stop();
});

describe('a server over HTTP', () => {
  const source = (more: object = {}): ToolSource => ({
    id: 'real',
    kind: 'mcp',
    url: server.url,
    headers: { 'x-key': { secret: 'TOOL_SECRET_MCP' } },
    timeout_seconds: 5,
    ...more,
  });

  it('has its tools held back until each is accepted as it was seen', async () => {
    await bench.declare(source());
    const { offered, accepted } = await bench.offered('real__echo');
    expect(offered).toMatchObject({ remoteName: 'echo', description: 'Says it again.', parameters: ECHO });
    expect(accepted).toBeUndefined();
    expect(bench.directory.find('real__echo', 'default')).toBeUndefined();
    expect(await bench.store.accept('real__echo', '0'.repeat(64), {} as never)).toBe(false);
    expect(await bench.accept('real__echo')).toMatchObject({ name: 'real__echo', kind: 'mcp', idempotent: false });
    expect(bench.directory.find('real__list_files', 'default')).toBeUndefined();
    expect(await bench.seen()).toEqual(['tool.offered real__echo', 'tool.offered real__list_files']);
  });

  it('is called with its secret, which does not come back, and with the key of the call', async () => {
    const output = JSON.parse((await bench.call('real__echo', { text: 'hello' })) as string) as Record<string, unknown>;
    expect(output).toEqual({
      said: 'hello',
      key: '[secret]',
      meta: expect.objectContaining({ 'switchyard/idempotency-key': expect.stringMatching(/^key\.call_\d+$/) }),
    });
  });

  it('has a changed tool refused until somebody accepts the change', async () => {
    const { digest } = bench.offer('real__echo')!.offered;
    const tool = bench.tool('real__echo');
    server.tools.get('echo')!.description = 'Sends it to me.';
    server.changed();
    const { offered, accepted } = await bench.offered('real__echo', ({ offered: now }) => now.digest !== digest);
    expect([offered.description, accepted?.description]).toEqual(['Sends it to me.', 'Says it again.']);
    expect(bench.directory.find('real__echo', 'default')).toBeUndefined();
    const call = {
      input: '',
      signal: new AbortController().signal,
      tenant: 'default',
      taskId: 't',
      toolCallId: 'c',
      idempotencyKey: 'k',
    };
    await expect(tool.execute({ text: 'x' }, call)).rejects.toThrow('is not what was accepted any more');
    expect((await bench.accept('real__echo')).description).toBe('Sends it to me.');
    expect(await bench.call('real__echo', { text: 'x' })).toContain('"said":"x"');
    expect(await bench.seen()).toContain('tool.changed real__echo');
  });

  it('loses a tool it lists no more, and has it back without another acceptance', async () => {
    const echo = server.tools.get('echo')!;
    server.tools.delete('echo');
    server.changed();
    await bench.offered('real__echo', ({ isListed }) => !isListed);
    expect(bench.directory.find('real__echo', 'default')).toBeUndefined();
    server.tools.set('echo', echo);
    server.changed();
    await bench.offered('real__echo', ({ isListed }) => isListed);
    expect(await bench.call('real__echo', { text: 'again' })).toContain('"said":"again"');
  });

  it('that is gone fails calls at once, and is used again when it is back', async () => {
    await server.stop();
    const startedMs = performance.now();
    const failures = [await bench.call('real__echo', { text: 'x' }), await bench.call('real__echo', { text: 'x' })];
    expect(failures).toEqual([
      expect.objectContaining({ name: 'ToolError', code: 'failed' }),
      expect.objectContaining({ name: 'ToolError', code: 'failed' }),
    ]);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    await server.start();
    await until(async () => typeof (await bench.call('real__echo', { text: 'x' })) === 'string', { timeoutMs: 20_000 });
  });

  it('gives only the tools that are named, repeats those the operator says can be, and takes new ones on trust if told', async () => {
    await bench.declare(source({ id: 'trusted', tools: ['list.files'], idempotent: ['list.files'], trust: 'auto' }));
    await bench.offered('trusted__list_files');
    expect(bench.tool('trusted__list_files')).toMatchObject({ idempotent: true });
    expect(await bench.call('trusted__list_files')).toBe('none');
    expect(bench.offer('trusted__echo')).toBeUndefined();
    server.tools.get('list.files')!.description = 'Lists, and more.';
    server.changed();
    await bench.offered('trusted__list_files', ({ offered }) => offered.description === 'Lists, and more.');
    expect(bench.directory.find('trusted__list_files', 'default')).toBeUndefined();
  });

  it('is known to no other tenant than those it is for', async () => {
    await bench.declare(source({ tenants: ['other'] }));
    await until(async () => {
      await bench.directory.refresh();
      return bench.directory.find('real__echo', 'other') !== undefined;
    });
    expect(bench.directory.find('real__echo', 'default')).toBeUndefined();
  });
});

describe('a server as a process', () => {
  const program = path.resolve('dist/test/support/mcp.child.js');
  const child = (more: object = {}): ToolSource => ({
    id: 'child',
    kind: 'mcp',
    command: process.execPath,
    args: [program],
    env: { CHILD_KEY: { secret: 'TOOL_SECRET_MCP' } },
    timeout_seconds: 5,
    trust: 'auto',
    ...more,
  });
  const isAlive = (pid: number): boolean =>
    existsSync(`/proc/${pid}`) && !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

  it('is not started when it was declared where that is not allowed', async () => {
    // The bench stands for the API, and the setting allows the file only.
    await bench.declare(child({ id: 'denied' }));
    await bench.declare({ id: 'later', kind: 'mcp', url: server.url, trust: 'auto' });
    await bench.offered('later__list_files');
    expect(bench.offer('denied__look')).toBeUndefined();
  });

  it('that does not care for the end of its input ends when the process that started it is killed', async () => {
    const transport = path.resolve('dist/libs/tools/src/mcp/process.transport.js');
    const program = 'trap "" HUP INT TERM; sleep 1000 & echo $! >&2; while :; do wait; done';
    const server = { command: '/bin/sh', args: ['-c', program], env: { PATH: process.env.PATH } };
    const script = `
      import { ProcessTransport } from ${JSON.stringify(transport)};
      const told = (text) => console.log(process.pid + ' ' + text.trim());
      await new ProcessTransport({ ...${JSON.stringify(server)}, onStderr: told }).start();`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(host.stdout, 'data')) as [Buffer];
    const [pid, helper] = line.toString().split(' ').map(Number) as [number, number];
    const parent = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${helper}/status`, 'utf8'))?.[1]);
    expect([pid, parent, helper].map(isAlive)).toEqual([true, true, true]);
    host.kill('SIGKILL');
    await until(() => !isAlive(parent) && !isAlive(helper));
  });

  it('sees nothing of our environment but what it is given, and ends with what it has started', async () => {
    const other = await ToolBench.open({ secrets: { TOOL_SECRET_MCP: SECRET }, stdio: 'api' });
    try {
      await other.declare(child());
      await other.offered('child__look');
      await other.directory.refresh();
      const seen = JSON.parse((await other.call('child__look')) as string) as {
        env: Record<string, string>;
        pid: number;
        helper: number;
      };
      expect(seen.env).toEqual({ PATH: process.env.PATH, LANG: 'C.UTF-8', CHILD_KEY: '[secret]' });
      expect([seen.pid, seen.helper].map(isAlive)).toEqual([true, true]);
      expect(await other.call('child__die')).toMatchObject({ name: 'ToolError' });
      await until(() => !isAlive(seen.pid) && !isAlive(seen.helper));
      await until(async () => typeof (await other.call('child__look')) === 'string', { timeoutMs: 20_000 });
      const again = JSON.parse((await other.call('child__look')) as string) as typeof seen;
      await other.directory.close();
      expect([again.pid, again.helper].map(isAlive)).toEqual([false, false]);
    } finally {
      await other.close();
    }
  });
});
