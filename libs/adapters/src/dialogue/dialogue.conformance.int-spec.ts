import { type ToolClient, ToolError } from '../contract/index.js';
import { describeConformance } from '../../../../test/support/adapter.conformance.js';
import { FakeModelEndpoint, type Reply } from '../../../../test/support/fake-model-endpoint.js';
import { createDialogueAdapter } from './dialogue.adapter.js';
import { dialogueDescriptor } from './dialogue.descriptor.js';
import type { RunnerAdapter } from '../contract/index.js';

/** An endpoint that answers by what it is asked for. */
const SCRIPTS: Readonly<Record<string, readonly Reply[]>> = {
  hang: [{ text: ['Wait'], end: 'hang' }],
  drop: [{ text: ['It is'], end: 'cut' }],
  garbage: [{ raw: 'data: {"choices": nonsense\n\n' }],
  refusal: [{ status: 401 }],
  thinker: [
    { toolCalls: [{ id: 'c', name: 'add', arguments: '{"a": 1}' }], text: ['Let me add.'] },
    { reasoning: ['1 + 2'], text: ['It is 3.'], usage: { prompt_tokens: 2, completion_tokens: 1 } },
  ],
};

const tools: ToolClient = {
  list: [{ name: 'add', description: 'add', parameters: { type: 'object' }, idempotent: true }],
  call: async () => 3,
};

const environment = { databaseUrl: '', executeModelCode: false };

describeConformance(dialogueDescriptor, async () => {
  const endpoints = new Map<string, FakeModelEndpoint>();
  const adapters = new Map<string, RunnerAdapter>([['local', createDialogueAdapter(environment)]]);
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const endpoint = await FakeModelEndpoint.start(script);
    endpoints.set(name, endpoint);
    const model = { baseUrl: endpoint.baseUrl, apiKey: 'sk-test', name: 'fake-1' };
    adapters.set(name, createDialogueAdapter({ ...environment, model }));
  }
  // One adapter serves one endpoint, so the one that is meant is named by the agent.
  const adapter: RunnerAdapter = {
    start: (context, signal) => (adapters.get(context.agentId) ?? adapters.get('local')!).start(context, signal),
    health: async () => void (await Promise.all([...adapters.values()].map((one) => one.health()))),
    close: async () => void (await Promise.all([...adapters.values()].map((one) => one.close()))),
  };
  return {
    adapter,
    works: (word) => ({ input: `Please add {"word": "${word}"} now and ${word}`, tools: echo(word) }),
    lasts: { agentId: 'hang', detail: 'full' },
    checkpoints: { input: 'Please add {"a": 1} now', tools },
    pauses: {
      given: {
        input: 'Please add {"a": 1} and look {"a": 1} together',
        tools: {
          ...tools,
          list: [
            { ...tools.list[0]!, policy: 'confirm' },
            { ...tools.list[0]!, name: 'look' },
          ],
        },
      },
      answer: (asked) => ({
        decisions: asked.map(({ tool_call_id }) => ({ tool_call_id, approved: true })),
        results: [],
      }),
    },
    tells: [
      { agentId: 'thinker', tools },
      {
        input: 'Please add {"a": 1} now',
        tools: { ...tools, call: () => Promise.reject(new ToolError('failed', 'out of numbers')) },
      },
    ],
    faults: {
      drop: { given: { agentId: 'drop' }, kind: 'unavailable' },
      garbage: { given: { agentId: 'garbage' }, kind: 'protocol' },
      refusal: { given: { agentId: 'refusal' }, kind: 'rejected' },
    },
    openConnections: () => [...endpoints.values()].reduce((sum, endpoint) => sum + endpoint.openRequests, 0),
    close: async () => void (await Promise.all([...endpoints.values()].map((endpoint) => endpoint.stop()))),
  };
});

function echo(word: string): ToolClient {
  return { ...tools, call: async () => ({ word }) };
}
