import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type AgentEdit,
  AgentStore,
  type AuditEntry,
  type BackendVersion,
  DEFAULT_POLICY,
  type StoredAgent,
} from '#lib/domain';
import { BUILTIN_TOOLS } from '#lib/tools';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { AgentDirectory } from './agent.directory.js';
import { AgentEditsService, type Edited, type EditRequest } from './agent-edits.service.js';
import { AgentsService } from './agents.service.js';
import type { Caller } from './caller.js';

class MemoryAgentStore extends AgentStore {
  agents: StoredAgent[] = [];
  made: Omit<BackendVersion, 'id'>[] = [];
  audits: AuditEntry[] = [];
  isDown = false;

  override async all(): Promise<readonly StoredAgent[]> {
    // As from a database: never the same object twice.
    return structuredClone(this.agents);
  }

  override async change(decide: (agents: readonly StoredAgent[]) => AgentEdit): Promise<StoredAgent> {
    const { id, source, audit } = decide(structuredClone(this.agents));
    const version = Math.max(0, ...this.agents.map((agent) => agent.version)) + 1;
    const stored = { id, source, version, updatedAtMs: version };
    this.agents = [...this.agents.filter((agent) => agent.id !== id), stored];
    this.audits.push(audit);
    return stored;
  }

  override async activeTasks(): Promise<ReadonlyMap<string, number>> {
    return new Map([['all', 3]]);
  }

  override async applyFile(): Promise<boolean> {
    return false;
  }

  override async backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion> {
    if (this.isDown) throw new Error('down');
    this.made.push(backend);
    return { ...backend, id: `bv_${this.made.length}` };
  }
}

const route = (...runners: string[]): object => ({ backends: runners.map((runner) => ({ runner })) });

function agent(id: string, more: object = {}, version = 1): StoredAgent {
  return { id, source: { id, description: '', routes: [route('full')], ...more }, version, updatedAtMs: 0 };
}

const RUNNERS = [
  {
    kind: 'full',
    optionsSchema: {},
    capabilities: { events: ['step.started'], pause: true, clientTools: true, resume: true, cancel: true },
  },
  {
    kind: 'plain',
    optionsSchema: {},
    capabilities: { events: ['message.delta'], pause: false, clientTools: false, resume: false, cancel: true },
  },
];
const caller: Caller = { tenant: 't', principal: 'p', keyId: 'k', scopes: new Set() };
const operator: Caller = { ...caller, principal: 'o', scopes: new Set(['agents:write', 'platform:admin'] as const) };

let directory: AgentDirectory;
afterEach(() => directory.close());

async function setUp(...agents: StoredAgent[]): Promise<{
  store: MemoryAgentStore;
  service: AgentsService;
  edits: AgentEditsService;
}> {
  const store = new MemoryAgentStore();
  const bus = new MemoryEventBus();
  store.agents = agents;
  directory = new AgentDirectory({ store, bus, logger: new SilentLogger(), runners: RUNNERS });
  await directory.open();
  return {
    store,
    service: new AgentsService(directory, store, {
      find: (name) => (name === 'gone' ? undefined : BUILTIN_TOOLS.get('summarise')),
    }),
    edits: new AgentEditsService(store, directory, RUNNERS),
  };
}

describe('AgentsService', () => {
  it('shows the agents of the tenant, disabled ones too, and no others', async () => {
    const { service } = await setUp(
      agent('all'),
      agent('mine', { tenants: ['t'], enabled: false }),
      agent('theirs', { tenants: ['u'] }),
    );
    expect((await service.list(caller)).map((view) => [view.agent.id, view.activeTasks])).toEqual([
      ['all', undefined],
      ['mine', undefined],
    ]);
    await expect(service.get(caller, 'theirs')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('shows to operators all there are, with the tasks that are still going on', async () => {
    const { service } = await setUp(agent('all'), agent('theirs', { tenants: ['u'] }));
    expect((await service.list(operator)).map((view) => [view.agent.id, view.activeTasks])).toEqual([
      ['all', 3],
      ['theirs', 0],
    ]);
  });

  it('names no tool that the policy of the agent denies', async () => {
    const policy = { ...DEFAULT_POLICY, tools: { read: 'confirm', write: 'deny' } } as const;
    const { service } = await setUp(agent('a', { tools: ['read', 'write', 'gone'], policy }));
    expect(await service.capabilities(caller, 'a')).toMatchObject({ tools: ['read'] });
  });

  it('names the tools some task of the caller may call, and looks at no route that is closed to it', async () => {
    const routes = [
      { when: { tenant: 'u' }, ...route('plain') },
      { ...route('full'), tools: ['read', 'other'] },
    ];
    const { service } = await setUp(agent('a', { tools: ['read', 'write'], routes }));
    expect(await service.capabilities(caller, 'a')).toMatchObject({ tools: ['read'], resume: true });
    expect(await service.capabilities({ ...caller, tenant: 'u' }, 'a')).toMatchObject({
      tools: ['read', 'write'],
      resume: false,
    });
  });

  it('promises only what every backend of an agent can do', async () => {
    const { service } = await setUp(agent('one'), agent('two', { routes: [route('full'), route('full', 'plain')] }));
    expect(await service.capabilities(caller, 'one')).toMatchObject({
      pause: true,
      resume: true,
      cancel: true,
      clientTools: true,
    });
    const { events, ...two } = await service.capabilities(caller, 'two');
    expect(two).toMatchObject({ pause: false, resume: false, cancel: true, clientTools: false });
    expect(events).toEqual(expect.arrayContaining(['task.created', 'step.started', 'message.delta', 'task.resumed']));
    expect(events).not.toContain('tool.invoked');
  });

  it('promises nothing of a runner it does not know', async () => {
    const { service } = await setUp(agent('odd', { routes: [route('full', 'unheard-of')] }));
    expect(await service.capabilities(caller, 'odd')).toMatchObject({ pause: false, resume: false, cancel: false });
  });
});

describe('AgentEditsService', () => {
  const request = (body: unknown, expects: EditRequest['expects'] = {}, agentId = 'a'): EditRequest => ({
    agentId,
    body,
    expects,
    requestId: 'r',
  });
  const fine = { description: 'd', routes: [route('full')] };
  /** Whether the agent is new, or the code of the refusal. */
  const outcomeOf = (edited: Promise<Edited>): Promise<unknown> =>
    edited.then(
      ({ isNew }) => isNew,
      (error: { code: unknown }) => error.code,
    );

  it('declares a new agent, and the next look finds it', async () => {
    const { store, service, edits } = await setUp();
    const { agent: made, isNew } = await edits.put(operator, request(fine));
    expect([isNew, made.source, made.name, made.enabled]).toEqual([true, { id: 'a', ...fine }, 'a', true]);
    expect((await service.get(caller, 'a')).agent).toEqual(made);
    expect(store.audits).toEqual([
      {
        tenant: 't',
        principal: 'o',
        keyId: 'k',
        action: 'agent.put',
        target: 'a',
        outcome: 'allowed',
        details: expect.stringMatching(/^\{"old":null,"new":"[0-9a-f]{64}"\}$/),
        requestId: 'r',
      },
    ]);
  });

  it('patches what was written: null brings the default back, the rest stays', async () => {
    const { store, edits } = await setUp(agent('a', { enabled: false, name: 'A', policy: { max_runs: 5 } }));
    const patch = { enabled: null, policy: { grace_seconds: 20 }, types: ['x'] };
    const { agent: changed, isNew } = await edits.patch(operator, request(patch));
    expect([isNew, changed.source]).toEqual([
      false,
      {
        id: 'a',
        description: '',
        routes: [route('full')],
        name: 'A',
        policy: { max_runs: 5, grace_seconds: 20 },
        types: ['x'],
      },
    ]);
    expect([changed.enabled, changed.policy.maxRuns, changed.policy.graceSeconds]).toEqual([true, 5, 20]);
    const digests = JSON.parse(store.audits[0]!.details) as { old: string; new: string };
    expect(digests.old).not.toBe(digests.new);
    await edits.patch(operator, request({}));
    expect(JSON.parse(store.audits[1]!.details)).toEqual({ old: digests.new, new: digests.new });
  });

  it.each<['put' | 'patch', unknown, string]>([
    ['put', ['x'], ''],
    ['put', { ...fine, id: 'b' }, '/id'],
    ['put', { ...fine, routes: [route('unheard-of')] }, '/routes/0/backends/0/runner'],
    ['put', { ...fine, types: ['y', 'theirs'] }, '/types/1'],
    ['put', { ...fine, default: true }, '/default'],
    ['put', { routes: fine.routes }, '/description'],
    ['patch', 'x', ''],
    ['patch', { id: 'b' }, '/id'],
    ['patch', { 'poli/cy': {} }, '/poli~1cy'],
    ['patch', { policy: { on_lost: 'ignore' } }, '/policy/on_lost'],
    ['patch', { description: null }, '/description'],
    ['patch', { types: ['theirs'] }, '/types/0'],
  ])('refuses to %s %j at %j, and writes nothing', async (method, body, path) => {
    const { store, edits } = await setUp(agent('a'), agent('b', { types: ['theirs'], default: true }));
    const before = store.agents;
    const fault = expect.objectContaining({ path });
    await expect(edits[method](operator, request(body))).rejects.toMatchObject({
      code: 'invalid_request',
      faults: [fault],
    });
    expect([store.agents, store.audits]).toEqual([before, []]);
  });

  it('patches no agent that is not there', async () => {
    const { edits } = await setUp();
    await expect(edits.patch(operator, request({ enabled: false }))).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each<[EditRequest['expects'], boolean]>([
    [{ ifMatch: '*' }, true],
    [{ ifMatch: [6, 7] }, true],
    [{ ifMatch: [6] }, false],
    [{ ifMatch: [] }, false],
    [{ ifNoneMatch: '*' }, false],
    [{ ifNoneMatch: [7] }, false],
    [{ ifNoneMatch: [6] }, true],
    [{ ifMatch: [7], ifNoneMatch: '*' }, false],
  ])('honours %j for an agent of version 7: %j', async (expects, isMet) => {
    const { edits } = await setUp(agent('a', {}, 7));
    expect(await outcomeOf(edits.put(operator, request(fine, expects)))).toBe(isMet ? false : 'precondition_failed');
  });

  it.each<[EditRequest['expects'], boolean]>([
    [{ ifMatch: '*' }, false],
    [{ ifMatch: [7] }, false],
    [{ ifNoneMatch: '*' }, true],
  ])('honours %j where there is no agent yet: %j', async (expects, isMet) => {
    const { edits } = await setUp();
    expect(await outcomeOf(edits.put(operator, request(fine, expects)))).toBe(isMet ? true : 'precondition_failed');
  });
});

describe('AgentDirectory', () => {
  it('sees a change when it is told of one', async () => {
    const { store, service } = await setUp(agent('a'));
    store.agents = [agent('a', { enabled: false }, 2), agent('b', {}, 3)];
    directory.announce();
    await until(async () => (await service.list(caller)).length === 2);
    expect((await service.get(caller, 'a')).agent.enabled).toBe(false);
  });

  it('sees a change within five seconds when the notice of it was lost', async () => {
    jest.useFakeTimers({ doNotFake: ['setTimeout', 'performance', 'nextTick'] });
    try {
      const { store, service } = await setUp(agent('a'));
      store.agents = [agent('a', { enabled: false }, 2)];
      jest.advanceTimersByTime(5_000);
      await until(async () => !(await service.get(caller, 'a')).agent.enabled);
      expect(directory.all()[0]!.version).toBe(2);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is not set back by a look that is overtaken by a later one', async () => {
    const { store } = await setUp(agent('a'));
    const answers: (() => void)[] = [];
    const all = store.all.bind(store);
    store.all = async () => {
      const found = await all();
      await new Promise<void>((resolve) => answers.push(resolve));
      return found;
    };
    const early = directory.refresh();
    await until(() => answers.length === 1);
    store.agents = [agent('a', {}, 2)];
    const late = directory.refresh();
    let isDone = false;
    const both = Promise.all([early, late]).then(() => (isDone = true));
    // The newest question is answered first, where more than one is open.
    await new Promise((resolve) => setImmediate(resolve));
    await until(() => {
      answers.pop()?.();
      return isDone;
    });
    await both;
    expect(directory.all()[0]!.version).toBe(2);
  });

  it('asks for the version of a backend once, until the agent changes', async () => {
    const { store } = await setUp(agent('a'));
    const versionOf = (): Promise<BackendVersion> => {
      const [found] = directory.all();
      const [first] = found!.routes;
      return directory.version({ agent: found!, route: first!, routeIndex: 0 }, first!.backends[0]!);
    };
    const before = directory.all();
    await Promise.all([versionOf(), versionOf()]);
    directory.announce();
    await until(() => directory.all() !== before);
    expect((await versionOf()).id).toBe('bv_1');
    store.agents = [agent('a', {}, 2)];
    const unchanged = directory.all();
    directory.announce();
    await until(() => directory.all() !== unchanged);
    expect((await versionOf()).id).toBe('bv_2');
  });

  it('asks again for a version that could not be had', async () => {
    const { store } = await setUp(agent('a'));
    const [found] = directory.all();
    const [first] = found!.routes;
    const ask = (): Promise<BackendVersion> =>
      directory.version({ agent: found!, route: first!, routeIndex: 0 }, first!.backends[0]!);
    store.isDown = true;
    await expect(ask()).rejects.toThrow('down');
    store.isDown = false;
    expect((await ask()).id).toBe('bv_1');
  });
});
