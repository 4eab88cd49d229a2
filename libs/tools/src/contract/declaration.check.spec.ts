import { describe, expect, it } from '@jest/globals';
import { toolFaults } from './declaration.check.js';

const TERMS = { origin: 'api', stdio: 'off' } as const;
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const http = {
  id: 'weather',
  kind: 'http',
  description: 'd',
  parameters,
  request: { url: 'https://api.example/{city}', headers: { authorization: { secret: 'TOOL_SECRET_KEY' } } },
};
const mcp = { id: 'files', kind: 'mcp', url: 'https://files.example/mcp' };
const request = (more: object): object => ({ ...http, request: { ...http.request, ...more } });

describe('a declaration of a tool', () => {
  it.each([http, mcp, request({ method: 'POST', json: { place: { argument: 'city' }, unit: 'c' } })])(
    '%j is taken',
    (declaration) => {
      expect(toolFaults(declaration, TERMS)).toEqual([]);
    },
  );

  it.each<[unknown, string, string]>([
    [null, '/kind', 'must be one of http, mcp'],
    [{ ...http, kind: 'constructor' }, '/kind', 'must be one of http, mcp'],
    [{ ...http, id: 'summarise' }, '/id', 'is the name of a built-in tool'],
    [{ ...http, id: 'files__read' }, '/id', expect.stringContaining('must match pattern') as unknown as string],
    [{ ...http, secret: 'x' }, '/secret', 'is not a known field'],
    [
      request({ url: 'https://{city}.example/' }),
      '/request/url',
      'must be http or https, with a host without arguments, credentials or fragment',
    ],
    [request({ url: 'https://api.example/{town}' }), '/request', 'names town, which is not in /parameters/properties'],
    [
      { ...http, parameters: { ...parameters, required: [] } },
      '/parameters/required',
      'must hold city: it is part of the path',
    ],
    [{ ...http, parameters: { type: 'array' } }, '/parameters/type', 'must be "object"'],
    [
      { ...http, parameters: { ...parameters, properties: { city: { type: 7 } } } },
      '/parameters/properties/city/type',
      expect.any(String) as unknown as string,
    ],
    [request({ headers: { Host: 'x' } }), '/request/headers/Host', 'is not a header for declarations to set'],
    [request({ headers: { 'x-a': 'b\r\nc' } }), '/request/headers/x-a', expect.any(String) as unknown as string],
    [
      request({ headers: { Authorization: 'Bearer of everything' } }),
      '/request/headers/Authorization',
      'must be a reference to a secret: {"secret": "TOOL_SECRET_…"} or {"secret_file": "…"}',
    ],
    [
      request({ headers: { 'x-a': { secret: 'DATABASE_URL' } } }),
      '/request/headers/x-a',
      expect.any(String) as unknown as string,
    ],
    [
      request({ headers: { 'x-a': { secret_file: '../key' } } }),
      '/request/headers/x-a',
      expect.any(String) as unknown as string,
    ],
    [request({ json: {}, method: 'GET' }), '/request/json', 'must be absent for GET'],
    [{ ...mcp, command: 'ls' }, '', 'must have either url or command'],
    [
      { ...mcp, url: 'https://user:pass@files.example/' },
      '/url',
      'must be http or https, without credentials or fragment',
    ],
    [{ id: 'files', kind: 'mcp', command: 'ls' }, '/command', 'is not allowed here: MCP_STDIO is off'],
  ])('%j is refused at %j', (declaration, path, message) => {
    expect(toolFaults(declaration, TERMS)).toContainEqual({ path, message });
  });

  it('may start a process only from where the setting allows it', () => {
    const stdio = { id: 'files', kind: 'mcp', command: 'ls' };
    const allowed = (['off', 'file', 'api'] as const).flatMap((setting) =>
      (['file', 'api'] as const)
        .filter((origin) => toolFaults(stdio, { origin, stdio: setting }).length === 0)
        .map((origin) => `${setting} ${origin}`),
    );
    expect(allowed).toEqual(['file file', 'api file', 'api api']);
  });
});
