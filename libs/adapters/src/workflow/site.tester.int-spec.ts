import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type SiteChild, startSite, syntaxProblem } from './site.child.js';
import { callSite } from './site.http.js';
import type { SitePlan } from './site.plan.js';
import { planSite } from './site.planner.js';
import { testSite } from './site.tester.js';
import { writeSite } from './site.writer.js';

let directory: string;
let child: SiteChild | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'site-'));
  await mkdir(join(directory, 'data'));
});

afterEach(async () => {
  await child?.stop();
  child = undefined;
  await rm(directory, { recursive: true });
});

async function build(plan: SitePlan, server?: string): Promise<SiteChild> {
  for (const { name, content } of writeSite(plan)) await writeFile(join(directory, name), content);
  if (server !== undefined) await writeFile(join(directory, 'server.mjs'), server);
  child = await startSite(directory);
  return child;
}

describe('a built site', () => {
  it.each([
    'a running log where members record date, distance in km, duration in minutes and a feeling (great, ok, bad); edit, delete, search, total distance, export CSV',
    'newsletter signup: email (required, unique), first name (optional), topics (multiple choice: tech, sports), a checkbox to accept the terms (required)',
    'film ratings with title, stars 1-5, website, watched at time, colour; sort by stars, filter by stars, like button, mark as seen',
    '图书管理：书名、作者、出版年份、价格、状态（在馆、借出）、手机号（11位），支持新增、编辑、删除、搜索、按状态筛选、导出CSV、点赞',
  ])('passes its test stage: %s', async (request) => {
    const plan = planSite(request);
    const report = await testSite(plan, await build(plan));
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.passed).toBeGreaterThan(15);
  });

  it('fails its test stage when the back end does not validate', async () => {
    const plan = planSite('a guest book with name and message');
    const server =
      "import { createServer } from 'node:http';\ncreateServer((q, r) => r.end('[]')).listen(0, '127.0.0.1', function () { console.log('listening on http://127.0.0.1:' + this.address().port); });";
    expect((await testSite(plan, await build(plan, server))).failed).toBeGreaterThan(5);
  });

  it('stores markup as text and answers it as JSON that no browser takes for a page', async () => {
    const plan = planSite('a guest book with name and message');
    const { port } = await build(plan);
    const body = {
      name: '<img src=x onerror=alert(1)>',
      message: '</script><script>alert(1)</script>',
      ['__proto__x']: undefined,
    };
    const stored = await callSite(port, { method: 'POST', path: '/api/guest-book', body });
    expect(stored.status).toBe(201);
    expect(stored.json).toMatchObject({ name: body.name, message: body.message });
  });

  it('says in the language of the request what is wrong with each field', async () => {
    const plan = planSite('报名表：姓名、邮箱');
    const { port } = await build(plan);
    const refused = await callSite(port, { method: 'POST', path: '/api/records', body: { 邮箱: 'x', constructor: 1 } });
    expect(refused.json).toEqual({
      error: 'some fields are not valid',
      errors: { 姓名: '为必填项', 邮箱: '必须是有效的邮箱地址', constructor: '不是这里的字段' },
    });
  });
});

describe('the child a site runs in', () => {
  const probe = (code: string): string =>
    `import fs from 'node:fs';\nimport { createServer } from 'node:http';\nlet out;\ntry { out = ${code} } catch (error) { out = error.code }\ncreateServer((q, r) => r.end(JSON.stringify(out))).listen(0, '127.0.0.1', function () { console.log('listening on http://127.0.0.1:' + this.address().port); });`;
  const plan = planSite('a guest book with name and message');

  it.each([
    ['has an empty environment', 'Object.keys(process.env)', []],
    ['reads nothing outside its directory', "fs.readFileSync('/etc/hostname', 'utf8')", 'ERR_ACCESS_DENIED'],
    ['writes nothing but its data', "fs.writeFileSync(new URL('x.txt', import.meta.url), '')", 'ERR_ACCESS_DENIED'],
    ['starts no other process', "(await import('node:child_process')).execFileSync('true')", 'ERR_ACCESS_DENIED'],
    ['starts no thread', "new (await import('node:worker_threads')).Worker('1', { eval: true })", 'ERR_ACCESS_DENIED'],
  ])('%s', async (_, code, expected) => {
    const { port } = await build(plan, probe(code));
    expect((await callSite(port, { method: 'GET', path: '/' })).json).toEqual(expected);
  });

  it('has 128 MiB of heap', async () => {
    const { port } = await build(plan, probe("(await import('node:v8')).getHeapStatistics().heap_size_limit"));
    const { json } = await callSite(port, { method: 'GET', path: '/' });
    expect(json).toBeLessThan(200 * 1024 * 1024);
  });

  it('is gone at once when aborted', async () => {
    const abort = new AbortController();
    await writeFile(join(directory, 'server.mjs'), 'setInterval(() => {}, 1000);');
    const starting = startSite(directory, abort.signal);
    abort.abort();
    await expect(starting).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('fails with what it printed when it does not start', async () => {
    await writeFile(join(directory, 'server.mjs'), "throw new Error('no luck');");
    await expect(startSite(directory)).rejects.toMatchObject({
      name: 'SiteChildError',
      message: expect.stringContaining('no luck'),
    });
  });

  it('lives 10 seconds at most', async () => {
    const started = Date.now();
    await writeFile(join(directory, 'server.mjs'), 'setInterval(() => {}, 1000);');
    await expect(startSite(directory)).rejects.toMatchObject({ name: 'SiteChildError' });
    expect(Date.now() - started).toBeLessThan(12_000);
  }, 20_000);
});

describe('parsing code', () => {
  it('finds a syntax error without running anything', async () => {
    const marker = join(directory, 'ran');
    await writeFile(
      join(directory, 'bad.mjs'),
      `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(marker)}, ''); let = ;`,
    );
    await writeFile(
      join(directory, 'good.mjs'),
      `import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(marker)}, '');`,
    );
    expect(await syntaxProblem(join(directory, 'bad.mjs'))).toMatch(/^SyntaxError/);
    expect(await syntaxProblem(join(directory, 'good.mjs'))).toBeUndefined();
    await expect(writeFile(marker, '', { flag: 'wx' })).resolves.toBeUndefined();
  });
});
