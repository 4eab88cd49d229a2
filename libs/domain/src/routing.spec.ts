import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type AgentDeclaration, type BackendChoice, DEFAULT_POLICY, type Route } from './agent.js';
import {
  backendOf,
  chooseBackend,
  clashesOf,
  pointOf,
  type Routed,
  routeTask,
  type RoutingRequest,
  type Weighed,
  weightSeed,
} from './routing.js';

const backend = (runner: string, weight = 1): BackendChoice => ({ runner, options: {}, weight });
const route = (runner: string, when?: Route['when']): Route => ({
  ...(when ? { when } : {}),
  backends: [backend(runner)],
});

function agent(id: string, more: Partial<AgentDeclaration> = {}): AgentDeclaration {
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
    routes: [route('r')],
    ...more,
  };
}

const request = (more: Partial<RoutingRequest> = {}): RoutingRequest => ({
  tenant: 't',
  user: 'u',
  context: {},
  ...more,
});
const code = (expected: string): unknown => expect.objectContaining({ code: expected });

describe('the agent of a task', () => {
  const agents = [agent('a', { types: ['x'] }), agent('b', { types: ['y'] }), agent('secret', { tenants: ['other'] })];

  it('is the named one, whatever the type', () => {
    expect(routeTask(agents, request({ agentId: 'a', type: 'y' })).agent.id).toBe('a');
  });

  it('is the owner of the type when none is named', () => {
    expect(routeTask(agents, request({ type: 'y' })).agent.id).toBe('b');
  });

  it('is the default agent when the type is nobody’s, or there is none', () => {
    const withDefault = [...agents, agent('d', { default: true })];
    expect(routeTask(withDefault, request({ type: 'z' })).agent.id).toBe('d');
    expect(routeTask(withDefault, request()).agent.id).toBe('d');
  });

  it.each([
    ['unknown_agent', { agentId: 'nobody' }],
    ['unknown_agent', { agentId: 'secret' }],
    ['no_route', { type: 'z' }],
    ['no_route', {}],
  ])('is refused as %s for %j', (expected, more) => {
    expect(() => routeTask(agents, request(more))).toThrow(code(expected));
  });

  it('is refused while it is disabled, by name and by type', () => {
    const disabled = [agent('a', { enabled: false, types: ['x'] }), agent('d', { default: true })];
    for (const more of [{ agentId: 'a' }, { type: 'x' }]) {
      expect(() => routeTask(disabled, request(more))).toThrow(code('agent_disabled'));
    }
  });
});

describe('the route of a task', () => {
  const pick = (when: Route['when'], more: Partial<RoutingRequest>): string =>
    routeTask([agent('a', { routes: [route('special', when), route('plain')] })], request({ agentId: 'a', ...more }))
      .route.backends[0]!.runner;

  it.each<[Route['when'], Partial<RoutingRequest>]>([
    [{ type: 'x' }, { type: 'x' }],
    [{ tenant: 't' }, {}],
    [{ user: 'u' }, {}],
    [{ 'context.region': 'eu' }, { context: { region: 'eu' } }],
    [{ 'context.flags': { b: 1, a: [2] } }, { context: { flags: { a: [2], b: 1 } } }],
    [{ 'context.beta': false }, { context: { beta: false } }],
    [{ 'attributes.plan.name': 'gold' }, { context: { attributes: { 'plan.name': 'gold' } } }],
    [
      { type: 'x', 'context.beta': true },
      { type: 'x', context: { beta: true } },
    ],
  ])('is the one whose condition %j holds', (when, more) => {
    expect(pick(when, more)).toBe('special');
  });

  it.each<[Route['when'], Partial<RoutingRequest>]>([
    [{ type: 'x' }, { type: 'y' }],
    [{ type: 'x' }, {}],
    [{ tenant: 'other' }, {}],
    [{ 'context.region': 'eu' }, { context: { region: 'us' } }],
    [{ 'context.n': 1 }, { context: { n: '1' } }],
    [{ 'context.toString': 'x' }, {}],
    [{ 'attributes.plan': 'gold' }, { context: { plan: 'gold' } }],
    [{ 'attributes.plan': 'gold' }, { context: { attributes: 'gold' } }],
    [{ type: 'x', 'context.beta': true }, { type: 'x' }],
  ])('is the next one when %j does not hold for %j', (when, more) => {
    expect(pick(when, more)).toBe('plain');
  });

  it('is refused when none matches', () => {
    const agents = [agent('a', { routes: [route('r', { type: 'x' })] })];
    expect(() => routeTask(agents, request({ agentId: 'a' }))).toThrow(code('no_route'));
  });
});

describe('the backend of a task', () => {
  const weighted: Route = { backends: [backend('a', 90), backend('off', 0), backend('b', 10)] };

  it.each([
    [0, 'a'],
    [0.899, 'a'],
    [0.9, 'b'],
    [0.999_999, 'b'],
  ])('at the point %d is %s', (point, runner) => {
    expect(chooseBackend(weighted, point).runner).toBe(runner);
  });

  it('never is one without weight, and always is one', () => {
    const weights = fc.array(fc.nat(100), { minLength: 1, maxLength: 8 }).filter((list) => list.some((w) => w > 0));
    const point = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(weights, point, (list, at) => {
        const backends = list.map((weight, index) => backend(String(index), weight));
        expect(chooseBackend({ backends }, at).weight).toBeGreaterThan(0);
      }),
    );
  });

  it('is refused when nothing has weight', () => {
    expect(() => chooseBackend({ backends: [backend('a', 0)] }, 0)).toThrow(code('no_route'));
  });

  it('carries the tools both agent and route allow, and its pool', () => {
    const routed = routeTask(
      [agent('a', { tools: ['read', 'write'], routes: [{ tools: ['write', 'other'], backends: [backend('r')] }] })],
      request({ agentId: 'a' }),
    );
    expect(backendOf(routed, backend('r'))).toMatchObject({ agentId: 'a', pool: 'r', policy: { tools: ['write'] } });
    expect(backendOf(routed, { ...backend('r'), pool: 'gpu' }).pool).toBe('gpu');
  });

  it('carries what the agent says of its tools, if it says something', () => {
    const declared = agent('a', { tools: ['x'], policy: { ...DEFAULT_POLICY, tools: { x: 'confirm' } } });
    const { policy } = backendOf(routeTask([declared], request({ agentId: 'a' })), backend('r'));
    expect(policy.toolPolicy).toEqual({ x: 'confirm' });
    const silent = backendOf(routeTask([agent('a')], request({ agentId: 'a' })), backend('r'));
    expect(silent.policy).not.toHaveProperty('toolPolicy');
  });
});

describe('a canary', () => {
  const weighed = (more: Partial<Weighed> = {}): Weighed => ({ tenant: 't', user: 'u', taskId: 'task', ...more });
  const routedTo = (route: Route, routeIndex = 0): Routed => ({ agent: agent('a'), route, routeIndex });
  const split = (canary: number): Route => ({ backends: [backend('stable', 100 - canary), backend('canary', canary)] });
  const runnerOf = (routed: Routed, of: Weighed): string => {
    const hash = createHash('sha256').update(weightSeed(routed, of)).digest();
    return chooseBackend(routed.route, pointOf(hash)).runner;
  };
  const name = fc.string({ minLength: 1, maxLength: 20 });

  it('gets its share of the tasks, whatever their ids have in common', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: 99 }), (prefix, share) => {
        const routed = routedTo(split(share));
        let hits = 0;
        for (let n = 0; n < 4_000; n += 1) {
          if (runnerOf(routed, weighed({ taskId: `${prefix}-${n}` })) === 'canary') hits += 1;
        }
        // Six standard deviations: a fair choice is outside of them once in five hundred million runs.
        const deviation = Math.sqrt(4_000 * (share / 100) * (1 - share / 100));
        expect(Math.abs(hits - 40 * share)).toBeLessThan(6 * deviation);
      }),
      { numRuns: 20 },
    );
  });

  it('keeps all tasks of a session together, whatever the tasks are called', () => {
    fc.assert(
      fc.property(
        name,
        fc.array(name, { minLength: 2 }),
        fc.integer({ min: 1, max: 99 }),
        (sessionId, tasks, share) => {
          const routed = routedTo(split(share));
          expect(new Set(tasks.map((taskId) => runnerOf(routed, weighed({ sessionId, taskId })))).size).toBe(1);
        },
      ),
    );
  });

  it('only gains when its weight grows: whoever it has stays with it', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: 98 }), fc.integer({ min: 1, max: 98 }), (sessionId, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((share) =>
          runnerOf(routedTo(split(share)), weighed({ sessionId })),
        );
        expect([less, more]).not.toEqual(['canary', 'stable']);
      }),
    );
  });

  it('draws anew for each agent, route, tenant, user and session, even where their names run together', () => {
    const seeds = [
      weightSeed(routedTo(split(1)), weighed({ sessionId: 's' })),
      weightSeed(routedTo(split(1), 1), weighed({ sessionId: 's' })),
      weightSeed({ ...routedTo(split(1)), agent: agent('b') }, weighed({ sessionId: 's' })),
      weightSeed(routedTo(split(1)), weighed({ sessionId: 's', tenant: 'tu', user: '' })),
      weightSeed(routedTo(split(1)), weighed({ sessionId: 's', tenant: '', user: 'tu' })),
      weightSeed(routedTo(split(1)), weighed({ sessionId: 'us', user: '' })),
      weightSeed(routedTo(split(1)), weighed({ taskId: 's' })),
    ];
    expect(new Set(seeds).size).toBe(seeds.length);
  });

  it.each([
    [[0, 0, 0, 0, 0, 0, 255], 0],
    [[128, 0, 0, 0, 0, 0, 0], 0.5],
    [[255, 255, 255, 255, 255, 255, 255], 1 - 2 ** -48],
  ])('of the hash %j lies at %d', (bytes, point) => {
    expect(pointOf(Uint8Array.from(bytes))).toBe(point);
  });
});

describe('a set of agents', () => {
  it('is refused for ids and types that come twice, and for two defaults', () => {
    expect(
      clashesOf([
        agent('a', { types: ['x'], default: true }),
        agent('b', { types: ['y', 'x'], default: true }),
        agent('a'),
      ]),
    ).toEqual([
      { path: '/types/1', message: 'the type x belongs to both a and b' },
      { path: '/default', message: 'only one agent can be the default, not a and b' },
      { path: '/id', message: 'the agent a is declared twice' },
    ]);
  });

  it('is accepted when each type has one owner', () => {
    expect(clashesOf([agent('a', { types: ['x'] }), agent('b', { types: ['y'], default: true })])).toEqual([]);
  });
});
