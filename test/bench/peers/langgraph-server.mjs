// LangGraph's own API server with its in-memory runtime.
import { startServer } from '@langchain/langgraph-api/server';

const { host } = await startServer({
  port: Number(process.argv[2]),
  host: '127.0.0.1',
  nWorkers: 64,
  cwd: import.meta.dirname,
  graphs: { bench: './langgraph-graph.mjs:graph' },
});
process.send({ port: Number(new URL(`http://${host}`).port) });
