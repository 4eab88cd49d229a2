import { describe, expect, it } from '@jest/globals';
import type { AskedCall, ToolLimits, ToolPolicy } from '#lib/domain';
import { digestCall } from '#lib/platform';
import { catalogOf, fakeTool } from '../../../test/support/fake-tools.js';
import { Approvals } from './approvals.js';
import { BUILTIN_CATALOG, BUILTIN_TOOLS } from './builtin/catalog.js';
import { errorOf, ToolGateway, type ToolRights } from './tool.gateway.js';

const mail = fakeTool('send_mail', async () => 'sent', {
  parameters: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string' } },
    required: ['to'],
    additionalProperties: false,
  },
});
const again = fakeTool('again', async (_args, { idempotencyKey }) => idempotencyKey, { idempotent: true });
const run = { input: 'A fine day.', signal: new AbortController().signal, tenant: 'acme', taskId: 't' };

interface Given extends Omit<Partial<ToolRights>, 'approvals'> {
  readonly asked?: readonly AskedCall[];
}

function gatewayOf({ asked = [], ...rights }: Given): ToolGateway {
  return new ToolGateway(
    { allowed: ['send_mail', 'again'], approvals: new Approvals(asked), ...rights },
    { catalog: catalogOf([mail, again]), taskKey: 'k', run },
  );
}

const wanted = (args: unknown, toolName = 'send_mail', toolCallId = 'c1') => ({ toolName, args, toolCallId });
const approved = (toolName: string, args: unknown, usedBy: string | null = null): AskedCall => ({
  toolCallId: 'c1',
  toolName,
  digest: digestCall(toolName, args),
  decision: '{"approved":true}',
  waitId: 'w',
  decidedBy: 'alice',
  usedBy,
});

const inside = { properties: { to: { pattern: '@acme\\.test$' } }, required: ['to'] };
const rules: ToolPolicy = {
  send_mail: [
    { when: { properties: { text: { pattern: '(?i)password' } }, required: ['text'] }, then: 'deny' },
    { when: inside, then: 'allow' },
    { when: { required: ['to'] }, then: 'confirm' },
  ],
};
/** A policy that nobody could have declared. */
const broken = (value: unknown): ToolPolicy => ({ send_mail: value }) as ToolPolicy;

describe('a decision about a call', () => {
  // Each row would also be refused by the rows below it: what comes first is what is said.
  it.each<[string, Given, unknown, string]>([
    [
      'a tool that is not on the list',
      { allowed: [], denied: ['send_mail'], policy: { '*': 'deny' } },
      7,
      'not_on_list',
    ],
    ['a tool its caller denies', { denied: ['send_mail'], policy: { '*': 'deny' } }, 7, 'denied_by_caller'],
    ['what the policy denies', { policy: { '*': 'deny' } }, 7, 'denied_by_policy'],
    [
      'what a rule denies for its arguments',
      { policy: rules },
      { to: 'a@acme.test', text: 'my PASSWORD', x: 1 },
      'denied_by_policy',
    ],
    ['what no rule speaks of', { policy: rules }, { text: 'hi', x: 1 }, 'denied_by_policy'],
    ['a tool without rules', { policy: { send_mail: [] } }, { to: 'a' }, 'denied_by_policy'],
    ['a policy of another form', { policy: broken('maybe') }, { to: 'a' }, 'policy_unavailable'],
    ['a rule of another form', { policy: broken([{ then: 'allow', when: 'x' }]) }, { to: 'a' }, 'policy_unavailable'],
    [
      'a condition that is none',
      { policy: broken([{ when: { pattern: '(' }, then: 'deny' }, { then: 'allow' }]) },
      { to: 'a' },
      'policy_unavailable',
    ],
    [
      'a condition without end',
      { policy: broken([{ when: { $ref: '#' }, then: 'deny' }, { then: 'allow' }]) },
      { to: 'a' },
      'policy_unavailable',
    ],
    ['a policy that is none', { policy: [] as never }, { to: 'a' }, 'policy_unavailable'],
    [
      'arguments the tool does not take',
      { policy: { '*': 'confirm' }, limits: { argumentBytes: 2 } },
      { too: 'a' },
      'invalid_arguments',
    ],
    ['arguments that are no object', {}, ['a'], 'invalid_arguments'],
    [
      'arguments that are too long',
      { policy: { '*': 'confirm' }, limits: { argumentBytes: 20 } },
      { to: 'ä'.repeat(10) },
      'too_large',
    ],
    ['a call nobody approved', { policy: { '*': 'confirm' } }, { to: 'a' }, 'not_approved'],
    ['a call a rule wants approved', { policy: rules }, { to: 'a@other.test' }, 'not_approved'],
    [
      'another call than the approved one',
      { policy: { '*': 'confirm' }, asked: [approved('send_mail', { to: 'b' })] },
      { to: 'a' },
      'changed',
    ],
    [
      'a call whose approval is used',
      { policy: { '*': 'confirm' }, asked: [approved('send_mail', { to: 'a' }, 'c0')] },
      { to: 'a' },
      'approval_used',
    ],
  ])('denies %s', (_what, given, args, code) => {
    const decision = gatewayOf(given).decide(wanted(args));
    expect(decision).toMatchObject({ outcome: 'denied', code, digest: digestCall('send_mail', args) });
    expect(decision.policyVersion).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[string, Given, unknown]>([
    ['everything on the list when nothing else is said', {}, { to: 'a' }],
    ['what a rule allows for its arguments', { policy: rules }, { to: 'a@acme.test', text: 'hi' }],
    [
      'what somebody approved, to the letter',
      { policy: rules, asked: [approved('send_mail', { to: 'x' })] },
      { to: 'x' },
    ],
  ])('allows %s', (_what, given, args) => {
    expect(gatewayOf(given).decide(wanted(args))).toMatchObject({ outcome: 'allowed', tool: mail });
  });

  it('denies a tool that is gone, and one whose schema cannot be used takes no arguments', () => {
    const parts = { taskKey: 'k', run };
    const rights = { allowed: ['gone', 'odd'], approvals: new Approvals([]) };
    const odd = fakeTool('odd', async () => 1, { parameters: { pattern: '(' } });
    const gateway = new ToolGateway(rights, { ...parts, catalog: catalogOf([odd]) });
    expect(gateway.decide(wanted({}, 'gone'))).toMatchObject({ code: 'unknown_tool' });
    expect(gateway.decide(wanted({}, 'odd'))).toMatchObject({ code: 'invalid_arguments' });
  });

  it('uses an approval up, but not with a call that cannot be made', () => {
    const policy: ToolPolicy = { '*': 'confirm' };
    const gateway = gatewayOf({ policy, asked: [approved('send_mail', { to: 'a' })] });
    expect(gateway.decide(wanted({ to: 7 }))).toMatchObject({ code: 'invalid_arguments' });
    expect(gateway.decide(wanted({ to: 'a' }))).toMatchObject({ outcome: 'allowed', approval: { place: 'w/c1' } });
    expect(gateway.decide(wanted({ to: 'a' }))).toMatchObject({ code: 'approval_used' });
  });

  it('lets a call that may have been made be made again only when the tool is idempotent', () => {
    const policy: ToolPolicy = { '*': 'confirm' };
    const repeat = (toolName: string) => {
      const gateway = gatewayOf({ policy, asked: [approved(toolName, { to: 'a' }, 'c0')] });
      return gateway.decide({ ...wanted({ to: 'a' }, toolName), repeats: 'c0' });
    };
    expect(repeat('again')).toMatchObject({ outcome: 'allowed', isRepeat: true });
    expect(repeat('send_mail')).toMatchObject({ outcome: 'denied', code: 'approval_used' });
  });

  it('knows a policy by a version that changes with it', () => {
    const versions = [undefined, rules, { ...rules }, { '*': 'deny' } as const].map(
      (policy) => gatewayOf({ policy }).decide(wanted({})).policyVersion,
    );
    expect(versions[1]).toBe(versions[2]);
    expect(new Set(versions).size).toBe(3);
  });
});

describe('a denial', () => {
  it('tells the model what is wrong with its arguments, and of everything else that it is denied', () => {
    const gateway = gatewayOf({ policy: rules });
    const told = (args: unknown) => {
      const decision = gateway.decide(wanted(args));
      return decision.outcome === 'denied' ? errorOf(decision) : undefined;
    };
    expect(told({ to: 'a@acme.test', x: 1 })).toMatchObject({
      code: 'invalid_arguments',
      message: '/x is not a known field.',
    });
    expect(told({ text: 'hi' })).toMatchObject({ code: 'denied', message: expect.stringContaining('send_mail') });
  });
});

describe('the tools a run is told of', () => {
  const listed = (given: Given) => gatewayOf(given).list.map(({ name, policy }) => [name, policy]);

  it('are those that are not denied, each with whether it may ask', () => {
    expect(listed({})).toEqual([['send_mail', 'allow'], ['again', 'allow']]); // prettier-ignore
    expect(listed({ policy: { ...rules, again: 'deny' } })).toEqual([['send_mail', 'confirm']]);
    expect(listed({ denied: ['again'], policy: { '*': 'confirm' } })).toEqual([['send_mail', 'confirm']]);
    expect(listed({ allowed: ['gone'] })).toEqual([]);
  });

  it('can be asked about one call before it is made', () => {
    const gateway = gatewayOf({ policy: { ...rules, again: broken(7)['send_mail']! } });
    expect(gateway.verdictOn('send_mail', { to: 'a@acme.test' })).toBe('deny');
    const fine = gatewayOf({ policy: rules });
    expect(fine.verdictOn('send_mail', { to: 'a@acme.test' })).toBe('allow');
    expect(fine.verdictOn('send_mail', { to: 'a@other.test' })).toBe('confirm');
    expect(fine.verdictOn('nothing', {})).toBe('deny');
  });
});

describe('a call that is made', () => {
  async function make(given: Given, toolName: string, args: unknown, repeats?: string): Promise<unknown> {
    const gateway = gatewayOf(given);
    const decision = gateway.decide({ ...wanted(args, toolName), ...(repeats ? { repeats } : {}) });
    return decision.outcome === 'allowed' ? gateway.perform(decision) : decision.code;
  }

  it('has the key of its task and id, and that of the call it repeats', async () => {
    await expect(make({}, 'again', {})).resolves.toBe('k.c1');
    await expect(make({}, 'again', {}, 'c0')).resolves.toBe('k.c0');
  });

  it.each<[string, unknown]>([
    ['whole', 'x'.repeat(100)],
    ['in pieces', (async function* () { for (let i = 0; i < 9; i += 1) yield 'x'.repeat(20); })()], // prettier-ignore
    ['as bytes', new Uint8Array(100)],
  ])('fails when it answers %s with more than it may', async (_how, output) => {
    const limits: ToolLimits = { outputBytes: 60 };
    const big = fakeTool('big', async () => output);
    const rights = { allowed: ['big'], approvals: new Approvals([]), limits };
    const gateway = new ToolGateway(rights, { catalog: catalogOf([big]), taskKey: 'k', run });
    const decision = gateway.decide(wanted({}, 'big'));
    const made = async () => {
      if (decision.outcome === 'denied') return;
      const answer = await gateway.perform(decision);
      for await (const piece of answer as AsyncIterable<unknown>) expect(piece).toBeDefined();
    };
    await expect(made()).rejects.toMatchObject({ name: 'ToolError', code: 'failed' });
  });

  it('of a built-in tool works on the input of the task', async () => {
    const rights = { allowed: [...BUILTIN_TOOLS.keys()], approvals: new Approvals([]) };
    const gateway = new ToolGateway(rights, { catalog: BUILTIN_CATALOG, taskKey: 'k', run });
    const decision = gateway.decide(wanted({}, 'score_sentiment'));
    if (decision.outcome === 'denied') throw new Error(decision.code);
    await expect(gateway.perform(decision)).resolves.toMatchObject({ sentiment: { label: 'positive' } });
    for (const name of BUILTIN_TOOLS.keys()) expect(gateway.decide(wanted({}, name)).outcome).toBe('allowed');
  });
});
