import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { spawn } from 'node:child_process';

/** An MCP server over standard streams, which starts a process of its own and tells what it can see. */
const helper = spawn('sleep', ['1000'], { stdio: 'ignore' });
process.stderr.write(`ready with ${process.env['CHILD_KEY'] ?? 'nothing'}\n`);
process.stdout.write('this is no message\n');

serveStdio(() => {
  const server = new McpServer({ name: 'child', version: '1' });
  const schema = fromJsonSchema<Record<string, unknown>>({ type: 'object', properties: {} });
  server.registerTool('look', { description: 'Tells what it sees.', inputSchema: schema }, () => ({
    content: [{ type: 'text', text: JSON.stringify({ env: process.env, pid: process.pid, helper: helper.pid }) }],
  }));
  server.registerTool('die', { description: 'Ends.', inputSchema: schema }, () => process.exit(1));
  return server;
});
