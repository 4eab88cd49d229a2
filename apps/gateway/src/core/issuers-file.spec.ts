import { describe, expect, it } from '@jest/globals';
import { DEFAULT_CEILING } from '#lib/domain';
import { parseIssuersFile, readIssuersFile } from './issuers-file.js';

const issuer = {
  id: 'corp',
  issuer: 'https://login.example.com',
  audience: 'switchyard',
  tenant: { value: 'acme' },
  scopes: { claim: 'scope' },
};
const parsed = (more: object): unknown => parseIssuersFile(JSON.stringify({ issuers: [{ ...issuer, ...more }] }));
const refusal = (more: object): unknown => {
  try {
    return parsed(more);
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the issuers file', () => {
  it('needs little, and is strict where it says nothing', () => {
    expect(parsed({})).toEqual([
      {
        id: 'corp',
        issuer: 'https://login.example.com',
        audiences: ['switchyard'],
        algorithms: ['RS256', 'ES256', 'EdDSA'],
        typ: 'at+jwt',
        toleranceSeconds: 5,
        mapping: {
          tenant: { value: 'acme' },
          principal: { claim: 'sub', prefix: '' },
          scopes: { value: [], claim: 'scope', ceiling: new Set(DEFAULT_CEILING) },
        },
      },
    ]);
  });

  it('says in YAML what nested claims mean', () => {
    const [one] = parseIssuersFile(`
issuers:
  - id: corp
    issuer: https://login.example.com
    audience: [switchyard, urn:switchyard]
    typ: application/JWT
    tenant: { claim: /org/id, names: { "42": acme } }
    principal: { claim: email, prefix: "corp:" }
    scopes: { claim: /realm_access/roles, names: { operator: [agents:read, tasks:all] }, ceiling: [agents:read] }
`);
    expect(one).toMatchObject({
      audiences: ['switchyard', 'urn:switchyard'],
      typ: 'JWT',
      mapping: {
        tenant: { claim: '/org/id', names: new Map([['42', 'acme']]) },
        scopes: { names: new Map([['operator', ['agents:read', 'tasks:all']]]), ceiling: new Set(['agents:read']) },
      },
    });
  });

  it.each([
    [{ algorithms: ['HS256'] }, '/issuers/0/algorithms/0: '],
    [{ algorithms: ['none'] }, '/issuers/0/algorithms/0: '],
    [{ algorithms: [] }, '/issuers/0/algorithms: '],
    [{ issuer: 'http://login.example.com' }, '/issuers/0/issuer: must be an https URL'],
    [{ issuer: 'https://login.example.com?x=1' }, '/issuers/0/issuer: must have no query'],
    [{ jwks_uri: 'file:///etc/passwd' }, '/issuers/0/jwks_uri: must be an https URL'],
    [{ audience: undefined }, '/issuers/0/audience: '],
    [{ tenant: {} }, '/issuers/0/tenant'],
    [{ scopes: {} }, '/issuers/0/scopes: must have a claim or a value'],
    [{ scopes: { value: ['tasks:eat'] } }, '/issuers/0/scopes/value/0: '],
    [{ scopes: { value: ['tasks:read'], names: {} } }, '/issuers/0/scopes: must have a claim beside names'],
    [{ principal: { claim: '/a~2' } }, '/issuers/0/principal/claim: must be a claim'],
    [{ clock_tolerance_seconds: 121 }, '/issuers/0/clock_tolerance_seconds: '],
    [{ secret: 'x' }, '/issuers/0: '],
  ])('refuses %j at its path', (more, message) => {
    expect(refusal(more)).toEqual(expect.stringContaining(message));
  });

  it('refuses two issuers that cannot be told apart, no issuers, and what is no YAML', () => {
    const two = JSON.stringify({ issuers: [issuer, issuer] });
    expect(() => parseIssuersFile(two)).toThrow(
      'two issuers have the same id; the file: two issuers have the same issuer',
    );
    expect(() => parseIssuersFile('issuers: []')).toThrow('/issuers: ');
    expect(() => parseIssuersFile('issuers: [')).toThrow();
  });

  it('is not needed, and must be there when it is named', async () => {
    expect(await readIssuersFile(undefined)).toEqual([]);
    await expect(readIssuersFile('/nowhere/issuers.yaml')).rejects.toThrow('it cannot be read (ENOENT)');
  });
});
