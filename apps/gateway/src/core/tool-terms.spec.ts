import { describe, expect, it } from '@jest/globals';
import { type AgentDeclaration, DEFAULT_POLICY, type DomainError, type Routed } from '#lib/domain';
import { readToolRequest, toolTermsOf, toolWarnings } from './tool-terms.js';

const TOOL = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { at: {} } } };

function routed(change: { readonly tools?: readonly string[]; readonly routeTools?: readonly string[] } = {}): Routed {
  const { tools = ['a', 'b', 'c'], routeTools } = change;
  const route = { ...(routeTools ? { tools: routeTools } : {}), backends: [] };
  const agent: AgentDeclaration = {
    id: 'helper',
    name: 'helper',
    description: '',
    enabled: true,
    default: false,
    types: [],
    inputModes: ['text'],
    tools,
    policy: DEFAULT_POLICY,
    routes: [route],
  };
  return { agent, route, routeIndex: 0 };
}

const read = (context: object, tools?: unknown): ReturnType<typeof readToolRequest> =>
  readToolRequest(context as Record<string, unknown>, tools === undefined ? undefined : { text: '', value: tools });

function faults(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    const { code, faults: found } = error as DomainError;
    return [code, ...found.map(({ path }) => path)];
  }
}

describe('what a request says of tools', () => {
  it.each([
    [{}, {}],
    [{ allow_tools: null, deny_rules: null }, {}],
    [{ deny_rules: [] }, {}],
    [{ allow_tools: [] }, { allowedTools: [] }],
    [{ allow_tools: ['c', 'a', 'x'] }, { allowedTools: ['a', 'c'] }],
    [
      { deny_rules: [{ tool_name: 'b' }, { tool_name: 'nobody', behavior: 'DENY', source: 's' }] },
      { allowedTools: ['a', 'c'] },
    ],
    [{ allow_tools: ['a', 'b'], deny_rules: [{ tool_name: 'a', rule_content: 'rm *' }] }, { allowedTools: ['b'] }],
  ])('%j narrows the tools to %j', (context, expected) => {
    expect(toolTermsOf(read(context), routed(), { takesClientTools: true })).toEqual(expected);
  });

  it('narrows what the route has narrowed', () => {
    const terms = toolTermsOf(read({ allow_tools: ['a', 'b'] }), routed({ routeTools: ['b', 'c'] }), {
      takesClientTools: true,
    });
    expect(terms).toEqual({ allowedTools: ['b'] });
  });

  it.each([
    [{ allow_tools: 'a' }, ['/context/allow_tools']],
    [{ allow_tools: { 0: 'a' } }, ['/context/allow_tools']],
    [{ allow_tools: ['a', 7, '', 'x*', 'a b'] }, [1, 2, 3, 4].map((at) => `/context/allow_tools/${at}`)],
    [{ deny_rules: {} }, ['/context/deny_rules']],
    [{ deny_rules: ['a', null, []] }, [0, 1, 2].map((at) => `/context/deny_rules/${at}`)],
    [{ deny_rules: [{}] }, ['/context/deny_rules/0/tool_name']],
    [
      { deny_rules: [{ tool_name: '*' }, { tool_name: 'Bash(rm:*)' }] },
      ['/context/deny_rules/0/tool_name', '/context/deny_rules/1/tool_name'],
    ],
    [{ deny_rules: [{ tool_name: 'a', behavior: 'allow' }] }, ['/context/deny_rules/0/behavior']],
    [{ deny_rules: [{ tool_name: 'a', rule_content: ['x'] }] }, ['/context/deny_rules/0/rule_content']],
    [{ deny_rules: [{ tool_name: 'a', 'to/ol': 'x' }] }, ['/context/deny_rules/0/to~1ol']],
  ])('%j is refused by path', (context, paths) => {
    expect(faults(() => read(context))).toEqual(['invalid_request', ...paths]);
  });

  it('has a bound', () => {
    const tooMany = { allow_tools: Array.from({ length: 1001 }, () => 'a') };
    expect(faults(() => read(tooMany))).toEqual(['invalid_request', '/context/allow_tools']);
  });

  it('is told back where it is understood otherwise', () => {
    const context = {
      allow_tools: ['a', 'nobody', 'look'],
      deny_rules: [{ tool_name: 'b', rule_content: 'x' }, { tool_name: 'look' }, { tool_name: 'unknown' }],
    };
    expect(toolWarnings(read(context, [TOOL]), routed().agent).map(({ path, code }) => [path, code])).toEqual([
      ['/context/deny_rules/0/rule_content', 'whole_tool_denied'],
      ['/context/allow_tools/1', 'unknown_tool'],
      ['/tools/0', 'denied'],
    ]);
  });
});

describe('tools a caller runs itself', () => {
  it('are kept with their defaults, without those a rule denies', () => {
    const request = read({ deny_rules: [{ tool_name: 'gone' }] }, [
      TOOL,
      { name: 'gone' },
      { name: 'bare', description: null },
    ]);
    const { clientTools } = toolTermsOf(request, routed(), { takesClientTools: true });
    expect(JSON.parse(clientTools!)).toEqual([
      TOOL,
      { name: 'bare', description: '', parameters: { type: 'object', properties: {} } },
    ]);
  });

  it('are not narrowed by what the caller allows of the tools of the server', () => {
    const { clientTools, allowedTools } = toolTermsOf(read({ allow_tools: ['a'] }, [TOOL]), routed(), {
      takesClientTools: true,
    });
    expect([clientTools, allowedTools]).toEqual([JSON.stringify([TOOL]), ['a']]);
  });

  it('may say of any dialect that their schema is of it', () => {
    const parameters = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      definitions: { at: { type: 'string', pattern: '^[\\w\\-]+$', format: 'whatever' } },
      properties: { at: { $ref: '#/definitions/at' } },
    };
    expect(read({}, [{ ...TOOL, parameters }]).clientTools).toEqual([{ ...TOOL, parameters }]);
  });

  const withSchema = (parameters: unknown): object[] => [{ name: 'x', parameters }];
  it.each<[string, unknown, readonly string[]]>([
    ['an object', {}, ['/tools']],
    ['a text', 'look', ['/tools']],
    ['too many', Array.from({ length: 65 }, (_, index) => ({ name: `t${index}` })), ['/tools']],
    ['too much text', [{ name: 'x', description: 'y'.repeat(140_000) }], ['/tools']],
    ['no objects', [null, [], 'look'], ['/tools/0', '/tools/1', '/tools/2']],
    ['without a name', [{}], ['/tools/0/name']],
    [
      'of names no model takes',
      [{ name: 'has space' }, { name: '1st' }, { name: 'x'.repeat(65) }, { name: 'é' }],
      [0, 1, 2, 3].map((at) => `/tools/${at}/name`),
    ],
    ['with a description that is no text', [{ name: 'x', description: 7 }], ['/tools/0/description']],
    ['with a field nobody knows', [{ name: 'x', strict: true }], ['/tools/0/strict']],
    ['of the same name', [TOOL, { name: 'look' }], ['/tools/1/name']],
    ['with an array of parameters', withSchema([]), ['/tools/0/parameters']],
    ['with true for parameters', withSchema(true), ['/tools/0/parameters']],
    ['with parameters of any type', withSchema({}), ['/tools/0/parameters/type']],
    ['with a text for parameters', withSchema({ type: 'string' }), ['/tools/0/parameters/type']],
    ['with a schema that is none', withSchema({ type: 'object', required: 'all' }), ['/tools/0/parameters/required']],
    [
      'with a reference to elsewhere',
      withSchema({ type: 'object', properties: { a: { $ref: 'http://x/y' } } }),
      ['/tools/0/parameters'],
    ],
    [
      'with a reference to nothing',
      withSchema({ type: 'object', properties: { a: { $ref: '#/$defs/no' } } }),
      ['/tools/0/parameters'],
    ],
    [
      'with a broken pattern',
      withSchema({ type: 'object', properties: { a: { pattern: '(' } } }),
      ['/tools/0/parameters/properties/a/pattern'],
    ],
    ['with an asynchronous schema', withSchema({ type: 'object', $async: true }), ['/tools/0/parameters/$async']],
    [
      'with a schema too long',
      withSchema({ type: 'object', description: 'y'.repeat(33_000) }),
      ['/tools/0/parameters'],
    ],
  ])('%s are refused by path', (_what, tools, paths) => {
    expect(faults(() => read({}, tools))).toEqual(['invalid_request', ...paths]);
  });

  it('of the same $id in two requests do not meet', () => {
    const schema = (type: string): object => ({
      $id: 'https://ids.example/x',
      type: 'object',
      properties: { a: { type } },
    });
    for (const type of ['string', 'number', 'string']) {
      expect(faults(() => read({}, [{ name: 'x', parameters: schema(type) }]))).toMatchObject({ warnings: [] });
    }
  });

  it('are refused where the name is taken, and where nobody can hand their calls over', () => {
    const request = read({}, [TOOL, { name: 'b' }]);
    expect(faults(() => toolTermsOf(request, routed(), { takesClientTools: true }))).toEqual([
      'unsupported_input',
      '/tools/1/name',
    ]);
    expect(faults(() => toolTermsOf(read({}, [TOOL]), routed(), { takesClientTools: false }))).toEqual([
      'unsupported_input',
      '/tools',
    ]);
    expect(toolTermsOf(read({}, []), routed(), { takesClientTools: false })).toEqual({});
  });

  it.each([
    ['client_first', true, { allowedTools: ['b', 'c'] }, ['a', 'look']],
    ['client_first', false, {}, undefined],
    ['client_only', true, { allowedTools: [] }, ['a', 'look']],
    ['client_only', false, { allowedTools: [] }, undefined],
    ['agent_only', true, {}, undefined],
  ] as const)('in mode %s, handed out %s, leaves %j and %j', (mode, takesClientTools, allowed, names) => {
    const request = read({}, [{ ...TOOL, name: 'a' }, TOOL]);
    const { clientTools, ...rest } = toolTermsOf(request, routed(), { takesClientTools, mode });
    expect(rest).toEqual(allowed);
    const offered = clientTools === undefined ? undefined : (JSON.parse(clientTools) as { name: string }[]);
    expect(offered?.map(({ name }) => name)).toEqual(names);
  });

  it('denies both tools of a name', () => {
    const request = read({ deny_rules: [{ tool_name: 'a' }] }, [{ ...TOOL, name: 'a' }]);
    const meeting = { takesClientTools: true, mode: 'client_first' } as const;
    expect(toolTermsOf(request, routed(), meeting)).toEqual({ allowedTools: ['b', 'c'] });
  });
});
