import { describe, expect, it } from '@jest/globals';
import { type ClaimMapping, claimAt, DEFAULT_CEILING, subjectOfClaims } from './issuer.js';

const mapping: ClaimMapping = {
  tenant: { claim: '/org/id' },
  principal: { claim: 'sub', prefix: '' },
  scopes: { value: [], claim: 'scope', ceiling: new Set(DEFAULT_CEILING) },
};
const claims = { sub: 'ann', org: { id: 'acme' }, scope: 'tasks:read tasks:submit' };

describe('claimAt', () => {
  it.each([
    ['sub', 'ann'],
    ['/org/id', 'acme'],
    ['/https:~1~1a.example~1roles/0', 'x'],
    ['https://a.example/roles', ['x']],
    ['/org/name', undefined],
    ['/sub/length', undefined],
    ['toString', undefined],
    ['/constructor/name', undefined],
  ])('finds %s', (path, value) => {
    expect(claimAt({ ...claims, 'https://a.example/roles': ['x'] }, path)).toEqual(value);
  });
});

describe('subjectOfClaims', () => {
  it('reads tenant, principal and scopes where it is told', () => {
    expect(subjectOfClaims(claims, mapping)).toEqual({
      tenant: 'acme',
      principal: 'ann',
      scopes: ['tasks:read', 'tasks:submit'],
    });
  });

  it('takes fixed values, names for what an issuer calls things, and a prefix', () => {
    const named: ClaimMapping = {
      tenant: { claim: '/org/id', names: new Map([['acme', 'acme-tenant']]) },
      principal: { claim: 'sub', prefix: 'corp:' },
      scopes: {
        value: ['agents:read'],
        claim: 'roles',
        names: new Map([['reader', ['tasks:read', 'tasks:all'] as const]]),
        ceiling: new Set(DEFAULT_CEILING),
      },
    };
    const subject = subjectOfClaims({ ...claims, roles: ['reader', 'tasks:submit', 7] }, named);
    expect(subject).toEqual({
      tenant: 'acme-tenant',
      principal: 'corp:ann',
      scopes: ['agents:read', 'tasks:read', 'tasks:all'],
    });
    expect(subjectOfClaims({ ...claims, org: { id: 'other' } }, named)).toBeUndefined();
  });

  it('gives no scope above the ceiling, and none that is not ours', () => {
    const scope = 'platform:admin tasks:read tasks:eat';
    expect(subjectOfClaims({ ...claims, scope }, mapping)?.scopes).toEqual(['tasks:read']);
  });

  it.each([
    [{ ...claims, org: 'acme' }],
    [{ ...claims, org: { id: 7 } }],
    [{ ...claims, org: { id: '' } }],
    [{ ...claims, org: { id: '*' } }],
    [{ ...claims, sub: undefined }],
    [{ ...claims, sub: ['ann'] }],
    [{ ...claims, sub: '' }],
    [{ ...claims, sub: 'a\u0000b' }],
    [{ ...claims, sub: 'a'.repeat(201) }],
  ])('finds nobody in %j', (said) => {
    expect(subjectOfClaims(said, mapping)).toBeUndefined();
  });
});
