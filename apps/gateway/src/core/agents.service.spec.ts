import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type AgentDeclaration,
  type AgentRecord,
  AgentStore,
  type BackendVersion,
  DEFAULT_POLICY,
  type Route,
} from '#lib/domain';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { AgentDirectory } from './agent.directory.js';
import { AgentsService } from './agents.service.js';
import type { Caller } from './caller.js';

class MemoryAgentStore extends AgentStore {
  agents: AgentRecord[] = [];
  made: Omit<BackendVersion, 'id'>[] = [];
  isDown = false;

  override async all(): Promise<readonly AgentRecord[]> {
    // As from a database: never the same object twice.
    return structuredClone(this.agents);
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

const route = (...runners: string[]): Route => ({
  backends: runners.map((runner) => ({ runner, options: {}, weight: 1 })),
});

function agent(id: string, more: Partial<AgentDeclaration> = {}): AgentRecord {
  return {
    id,
    name: id,
    description: '',
    enabled: true,
    default: false,
    types: [],
    inputModes: ['text'],
    tools: [],
    policy: DEFAULT_POLICY,
    routes: [route('full')],
    version: 1,
    updatedAtMs: 0,
    ...more,
  };
}

const RUNNERS = [
  {
    kind: 'full',
    capabilities: { events: ['step.started'], pause: true, clientTools: true, resume: true, cancel: true },
  },
  {
    kind: 'plain',
    capabilities: { events: ['message.delta'], pause: false, clientTools: false, resume: false, cancel: true },
  },
];
const caller: Caller = { tenant: 't', principal: 'p', keyId: 'k', scopes: new Set() };

let directory: AgentDirectory;
afterEach(() => directory.close());

async function setUp(...agents: AgentRecord[]): Promise<{
  store: MemoryAgentStore;
  bus: MemoryEventBus;
  service: AgentsService;
}> {
  const store = new MemoryAgentStore();
  const bus = new MemoryEventBus();
  store.agents = agents;
  directory = new AgentDirectory({ store, bus, logger: new SilentLogger(), runners: RUNNERS });
  await directory.open();
  return { store, bus, service: new AgentsService(directory, RUNNERS) };
}

describe('AgentsService', () => {
  it('shows the agents of the tenant, disabled ones too, and no others', async () => {
    const { service } = await setUp(
      agent('all'),
      agent('mine', { tenants: ['t'], enabled: false }),
      agent('theirs', { tenants: ['u'] }),
    );
    expect((await service.list(caller)).map(({ id }) => id)).toEqual(['all', 'mine']);
    await expect(service.get(caller, 'theirs')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('promises only what every backend of an agent can do', async () => {
    const { service } = await setUp(agent('one'), agent('two', { routes: [route('full'), route('full', 'plain')] }));
    expect(await service.capabilities(caller, 'one')).toMatchObject({ resume: true, cancel: true });
    const { events, ...two } = await service.capabilities(caller, 'two');
    expect(two).toMatchObject({ resume: false, cancel: true });
    expect(events).toEqual(expect.arrayContaining(['task.created', 'step.started', 'message.delta']));
    expect(events).not.toContain('tool.invoked');
  });

  it('promises nothing of a runner it does not know', async () => {
    const { service } = await setUp(agent('odd', { routes: [route('full', 'unheard-of')] }));
    expect(await service.capabilities(caller, 'odd')).toMatchObject({ pause: false, resume: false, cancel: false });
  });
});

describe('AgentDirectory', () => {
  it('sees a change when it is told of one', async () => {
    const { store, service } = await setUp(agent('a'));
    store.agents = [agent('a', { enabled: false }), agent('b')].map((changed) => ({ ...changed, version: 2 }));
    directory.announce();
    await until(async () => (await service.list(caller)).length === 2);
    expect((await service.get(caller, 'a')).enabled).toBe(false);
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
    store.agents = [{ ...agent('a'), version: 2 }];
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
