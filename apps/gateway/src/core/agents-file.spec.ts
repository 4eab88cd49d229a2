import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { DEFAULT_POLICY } from '#lib/domain';
import { decodeAgent } from './agent.declaration.js';
import { parseAgentsFile } from './agents-file.js';

const RUNNERS = [
  {
    kind: 'dialogue',
    optionsSchema: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
  },
  { kind: 'workflow', optionsSchema: { type: 'object' } },
];

const TERMS = { runners: RUNNERS, stdio: 'off' } as const;
const parse = (text: string): unknown => parseAgentsFile(text, TERMS).agents.map(decodeAgent);
const one = (more: string): string => `agents: [{ id: a, description: d, ${more} }]`;
const ROUTES = 'routes: [{ backends: [{ runner: dialogue }] }]';

describe('the agents file', () => {
  it('gives declarations in full, with defaults for what it leaves out', () => {
    expect(parse(one(ROUTES))).toEqual([
      {
        id: 'a',
        name: 'a',
        description: 'd',
        enabled: true,
        default: false,
        types: [],
        inputModes: ['text'],
        tools: [],
        policy: DEFAULT_POLICY,
        routes: [{ backends: [{ runner: 'dialogue', options: {}, weight: 1 }] }],
      },
    ]);
  });

  it('keeps conditions, tools, pools and bounds', () => {
    const more = `session_strategy: interrupt, tools: [x, y], policy: { budgets: { tokens: 5 }, retries: { attempts: 1 }, tools: { x: confirm, '*': deny } },
      routes: [{ when: { type: t, context.k: [1] }, tools: [x], backends: [{ runner: workflow, weight: 3, pool: gpu }] }]`;
    expect(parse(one(more))).toMatchObject([
      {
        sessionStrategy: 'interrupt',
        policy: {
          ...DEFAULT_POLICY,
          budgets: { tokens: 5 },
          retries: { ...DEFAULT_POLICY.retries, attempts: 1 },
          tools: { x: 'confirm', '*': 'deny' },
        },
        routes: [
          {
            when: { type: 't', 'context.k': [1] },
            tools: ['x'],
            backends: [{ runner: 'workflow', options: {}, weight: 3, pool: 'gpu' }],
          },
        ],
      },
    ]);
  });

  it('declares tools beside agents, as they are written', () => {
    const tool = { id: 'clock', kind: 'http', description: 'd', request: { url: 'https://clock.example/now' } };
    const text = `${one(ROUTES)}\ntools: [${JSON.stringify(tool)}]`;
    expect(parseAgentsFile(text, TERMS).tools).toEqual([tool]);
    expect(parseAgentsFile(one(ROUTES), TERMS).tools).toEqual([]);
  });

  it.each([
    ['[{ id: clock, kind: http }]', '/tools/0/description is missing; /tools/0/request is missing'],
    ['[{ id: clock, kind: magic }]', '/tools/0/kind must be one of http, mcp'],
    ['[{ id: a, kind: mcp, command: ls }]', '/tools/0/command is not allowed here: MCP_STDIO is off'],
    [
      "[{ id: a, kind: mcp, url: 'https://x' }, { id: a, kind: mcp, url: 'https://y' }]",
      '/tools/1/id is taken by a tool before it',
    ],
  ])('is refused with tools %s', (tools, message) => {
    expect(() => parseAgentsFile(`${one(ROUTES)}\ntools: ${tools}`, TERMS)).toThrow(message);
  });

  it('takes one time to answer for all kinds, or one for each', () => {
    const seconds = (policy: string): unknown =>
      parseAgentsFile(one(`${ROUTES}, policy: { ${policy} }`), TERMS).agents.map(decodeAgent)[0]?.policy
        .confirmationSeconds;
    const all = (value: number): object => ({
      tool_confirmation: value,
      question: value,
      client_tool: value,
      authorization: value,
    });
    expect(seconds('')).toEqual(all(86_400));
    expect(seconds('confirmation_seconds: 60')).toEqual(all(60));
    expect(seconds('confirmation_seconds: { question: 5 }')).toEqual({ ...all(86_400), question: 5 });
  });

  it.each([
    [one(`${ROUTES}, policy: { confirmation_seconds: 0 }`), '/agents/0/policy/confirmation_seconds must be >= 1'],
    [
      one(`${ROUTES}, policy: { confirmation_seconds: { riddle: 5 } }`),
      '/agents/0/policy/confirmation_seconds/riddle is not a known field',
    ],
    ['', 'the file must be object'],
    ['agents: 1', '/agents must be array'],
    ['agents: []\nextra: 1', '/extra is not a known field'],
    [one('routes: []'), '/agents/0/routes must NOT have fewer than 1 items'],
    ['agents: [{ id: a, description: d }]', '/agents/0/routes is missing'],
    [one(`${ROUTES}, polcy: {}`), '/agents/0/polcy is not a known field'],
    [one(`${ROUTES}, policy: { on_lost: ignore }`), '/agents/0/policy/on_lost must be one of resume, restart, fail'],
    [
      one(`${ROUTES}, tools: [x], policy: { tools: { x: maybe } }`),
      '/agents/0/policy/tools/x must be one of allow, confirm, deny',
    ],
    [
      one(`${ROUTES}, tools: [x], policy: { tools: { y: deny } }`),
      "/agents/0/policy/tools/y is none of the agent's tools",
    ],
    [
      one(`${ROUTES}, input_modes: [smell]`),
      '/agents/0/input_modes/0 must be one of text, data, file, image, audio, video',
    ],
    [one(`${ROUTES}, input_schema: { type: 7 }`), '/agents/0/input_schema/type must be one of array, '],
    [
      one('routes: [{ when: { colour: red }, backends: [{ runner: workflow }] }]'),
      '/agents/0/routes/0/when/colour is not a known field',
    ],
    [
      one('routes: [{ backends: [{ runner: nobody }] }]'),
      '/agents/0/routes/0/backends/0/runner must be one of dialogue, workflow',
    ],
    [
      one('routes: [{ backends: [{ runner: dialogue, options: { n: x } }] }]'),
      '/agents/0/routes/0/backends/0/options/n must be integer',
    ],
    [
      one('routes: [{ backends: [{ runner: dialogue, options: { m: 1 } }] }]'),
      '/agents/0/routes/0/backends/0/options/m is not a known field',
    ],
    [
      `agents: [{ id: a, description: d, types: [t], ${ROUTES} }, { id: b, description: d, types: [t], ${ROUTES} }]`,
      'the type t belongs to both a and b',
    ],
    ['agents: [}', /at line 1/],
    ['a: 1\na: 2', /unique.*at line 2/],
  ])('is refused: %j', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  it('as it comes with the repository declares the bundled agents, and two that are supervised', async () => {
    const text = await readFile(new URL('../../../../agents.yaml', import.meta.url), 'utf8');
    const runners = RUNNERS.map(({ kind }) => ({ kind, optionsSchema: { type: 'object' } }));
    const agents = parseAgentsFile(text, { runners, stdio: 'off' }).agents.map(decodeAgent);
    expect(agents.map(({ id, types }) => [id, types])).toEqual([
      ['text-analyst', ['nlp_analysis']],
      ['site-builder', ['web_demo']],
      ['supervised-analyst', []],
      ['supervised-builder', []],
    ]);
    expect(agents[2]!.policy.tools).toEqual({ '*': 'confirm' });
    expect(agents[0]!.policy).toEqual(DEFAULT_POLICY);
  });
});
