// Servers others built, in memory and with nothing durable. They are installed on demand into a folder of their own:
// the product never depends on them.
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UserError } from '../../../scripts/terminal.mjs';
import { startChild } from '../processes.mjs';

const source = path.resolve(import.meta.dirname, '../peers');

function npmInstall(dir) {
  return new Promise((resolve, reject) => {
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    const child = spawn('npm', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += chunk));
    child.once('error', (error) => reject(new UserError(`The peers cannot be installed: npm: ${error.message}`)));
    child.once('exit', (code) =>
      code === 0
        ? resolve()
        : reject(new UserError(`The peers cannot be installed (npm ended with ${code}): ${errors.trim()}`)),
    );
  });
}

/** Installs what peers/package.json pins into `dir`, unless that is there already. */
export async function installPeers(dir) {
  await mkdir(dir, { recursive: true });
  const wanted = await readFile(path.join(source, 'package.json'), 'utf8');
  const installed = await readFile(path.join(dir, '.installed'), 'utf8').catch(() => undefined);
  await cp(source, dir, { recursive: true });
  if (installed === wanted) return;
  await rm(path.join(dir, 'node_modules'), { recursive: true, force: true });
  await npmInstall(dir);
  await writeFile(path.join(dir, '.installed'), wanted);
}

function createPeer(name, { pid, port }, { path: route, headers, body, marks }) {
  return {
    name,
    processes: { server: pid },
    request: () => ({ port, path: route, headers, body: typeof body === 'function' ? body() : body }),
    expected: () => ({ count: marks.length, fits: (frame, index) => frame.includes(marks[index]) }),
  };
}

/** The A2A JavaScript SDK: SendStreamingMessage, answered by a task and two status updates. */
export async function startA2a(dir, logs) {
  const server = await startChild(logs, { name: 'a2a', file: path.join(dir, 'a2a-server.mjs'), cwd: dir });
  let sent = 0;
  const body = () => {
    sent += 1;
    const message = { messageId: `message-${sent}`, role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    return JSON.stringify({ jsonrpc: '2.0', id: sent, method: 'SendStreamingMessage', params: { message } });
  };
  const marks = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
  return createPeer('a2a', server, { path: '/', headers: { 'a2a-version': '1.0' }, body, marks });
}

/** LangGraph's API server: a stateless run of two nodes, answered by its metadata and two updates. */
export async function startLanggraph(dir, logs) {
  const file = path.join(dir, 'langgraph-server.mjs');
  const server = await startChild(logs, {
    name: 'langgraph',
    file,
    args: ['0'],
    cwd: dir,
    env: { LOG_LEVEL: 'error' },
  });
  const body = JSON.stringify({ assistant_id: 'bench', input: { text: 'hello' }, stream_mode: ['updates'] });
  const marks = ['event: metadata', '"work"', '"answer"'];
  return createPeer('langgraph', server, { path: '/runs/stream', headers: {}, body, marks });
}
