import { afterAll, beforeAll } from '@jest/globals';
import { describeConformance } from '../../../../test/support/adapter.conformance.js';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeModelEndpoint, type Reply } from '../../../../test/support/fake-model-endpoint.js';
import type { RunnerAdapter } from '../contract/index.js';
import { createWorkflowAdapter, workflowDescriptor } from './index.js';
import { planSite } from './site.planner.js';

const SCRIPTS: Readonly<Record<string, readonly Reply[]>> = {
  hang: [{ text: ['{'], end: 'hang' }],
  corrected: [
    { text: ['I would rather not.'] },
    {
      text: [JSON.stringify(planSite('a cat board with name and age'))],
      usage: { prompt_tokens: 2, completion_tokens: 1 },
    },
  ],
  useless: [{ text: ['I would rather not.'] }],
};

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describeConformance(workflowDescriptor, async () => {
  const environment = { databaseUrl: database.url, executeModelCode: false };
  const endpoints = new Map<string, FakeModelEndpoint>();
  const adapters = new Map<string, RunnerAdapter>([['local', createWorkflowAdapter(environment)]]);
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const endpoint = await FakeModelEndpoint.start(script);
    endpoints.set(name, endpoint);
    const model = { baseUrl: endpoint.baseUrl, apiKey: 'sk-test', name: 'fake-1' };
    adapters.set(name, createWorkflowAdapter({ ...environment, model }));
  }
  // One adapter serves one endpoint, so the one that is meant is named by the agent.
  const adapter: RunnerAdapter = {
    start: (context, signal) => (adapters.get(context.agentId) ?? adapters.get('local')!).start(context, signal),
    health: async () => void (await Promise.all([...adapters.values()].map((one) => one.health()))),
    close: async () => void (await Promise.all([...adapters.values()].map((one) => one.close()))),
  };
  return {
    adapter,
    works: (word) => ({ input: `a list of ${word} books with title and a done checkbox` }),
    lasts: { agentId: 'hang', input: 'a todo list with title' },
    checkpoints: { input: 'a todo list with title and a done checkbox' },
    pauses: {
      given: { input: 'a todo list with title and a done checkbox', options: { review: true } },
      answer: ([question]) => ({
        decisions: [{ tool_call_id: question!.tool_call_id, approved: true }],
        results: [],
      }),
    },
    tells: [
      { agentId: 'corrected', input: 'a cat board with name and age' },
      { agentId: 'useless', input: 'a cat board with name and age', budgets: { modelCalls: 1 } },
    ],
    // An endpoint that fails is no fault of the run: the local planner takes over, and the answer says so.
    openConnections: () => [...endpoints.values()].reduce((sum, endpoint) => sum + endpoint.openRequests, 0),
    close: async () => void (await Promise.all([...endpoints.values()].map((endpoint) => endpoint.stop()))),
  };
});
