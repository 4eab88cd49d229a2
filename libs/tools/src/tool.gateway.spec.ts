import { describe, expect, it } from '@jest/globals';
import type { ToolPolicy } from '#lib/domain';
import { argumentFault, toolParameters } from './arguments.js';
import { BUILTIN_CATALOG, BUILTIN_TOOLS } from './builtin/catalog.js';
import { ToolGateway } from './tool.gateway.js';

const ALL = [...BUILTIN_TOOLS.keys()];

function gatewayOf(policy: ToolPolicy, allowed = ALL, approved: unknown[] = []): ToolGateway {
  const takeApproval = (...call: unknown[]): boolean => {
    const at = approved.findIndex((one) => JSON.stringify(one) === JSON.stringify(call));
    return at >= 0 && approved.splice(at, 1).length > 0;
  };
  return new ToolGateway(
    { allowed, policy, takeApproval },
    {
      catalog: BUILTIN_CATALOG,
      run: { input: 'A fine day.', signal: new AbortController().signal, tenant: 't', taskId: 'task' },
      taskKey: 'key',
    },
  );
}

const refusal = (code: string): unknown => expect.objectContaining({ name: 'ToolError', code });

describe('the tool gateway', () => {
  it('lists what is allowed and what is to be confirmed, and not what is denied', () => {
    const { list } = gatewayOf({ summarise: 'deny', score_sentiment: 'confirm' });
    expect(list.map(({ name, policy }) => [name, policy])).toEqual([
      ['score_sentiment', 'confirm'],
      ['extract_key_phrases', 'allow'],
    ]);
  });

  it('makes an allowed call', async () => {
    await expect(gatewayOf({}).call('score_sentiment', {}, 'call_1')).resolves.toMatchObject({
      sentiment: { label: 'positive' },
    });
  });

  it.each([
    ['is not on the list', {}, ['summarise']],
    ['the policy denies', { '*': 'deny' }, ALL],
    ['does not exist', {}, ['score_sentiment_of_all']],
  ] as const)('denies a tool that %s', async (_what, policy, allowed) => {
    await expect(gatewayOf(policy, [...allowed]).call('score_sentiment', {}, 'call_1')).rejects.toEqual(
      refusal('denied'),
    );
  });

  it('refuses arguments the tool does not take, and says which', async () => {
    const gateway = gatewayOf({});
    await expect(gateway.call('score_sentiment', { text: 7 }, 'call_1')).rejects.toThrow('/text must be string.');
    await expect(gateway.call('score_sentiment', [], 'call_1')).rejects.toEqual(refusal('invalid_arguments'));
    await expect(gateway.call('score_sentiment', { txt: '' }, 'call_1')).rejects.toEqual(refusal('invalid_arguments'));
  });

  it('makes a call that is to be confirmed once for each approval of exactly that call', async () => {
    const call = ['score_sentiment', { text: 'Good.' }] as const;
    const gateway = gatewayOf({ '*': 'confirm' }, ALL, [[...call]]);
    await expect(gateway.call('score_sentiment', { text: 'Bad.' }, 'call_1')).rejects.toEqual(refusal('denied'));
    await expect(gateway.call(...call, 'call_1')).resolves.toMatchObject({ sentiment: { label: 'positive' } });
    await expect(gateway.call(...call, 'call_1')).rejects.toEqual(refusal('denied'));
  });
});

describe('toolParameters', () => {
  it('gives the schema of each built-in tool, which compiles in strict mode, and nothing for other names', () => {
    for (const name of ALL) expect(argumentFault({ name, parameters: toolParameters(name)! }, {})).toBeUndefined();
    expect(toolParameters('constructor')).toBeUndefined();
  });
});
