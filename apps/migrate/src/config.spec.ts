import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.js';

const env = { DATABASE_URL: 'postgres://u@h/d' };

describe('the environment of migrate', () => {
  it('leaves out what it does not say', () => {
    expect(readConfig(env)).toEqual({
      ownerUrl: env.DATABASE_URL,
      databaseUrl: env.DATABASE_URL,
      retention: { days: undefined, tenants: undefined },
      auditRetention: { days: undefined, tenants: undefined },
    });
  });

  it('says how long tasks are kept, for all and for single tenants', () => {
    const { retention } = readConfig({ ...env, RETENTION_DAYS: '90', TENANT_RETENTION_DAYS: 'acme=7,lab west=400' });
    expect(retention).toEqual({
      days: 90,
      tenants: new Map([
        ['acme', 7],
        ['lab west', 400],
      ]),
    });
    expect(readConfig({ ...env, TENANT_RETENTION_DAYS: 'none' }).retention.tenants).toEqual(new Map());
  });

  it('says how long audit records are kept', () => {
    const audit = { AUDIT_RETENTION_DAYS: '800', TENANT_AUDIT_RETENTION_DAYS: 'acme=90' };
    expect(readConfig({ ...env, ...audit }).auditRetention).toEqual({ days: 800, tenants: new Map([['acme', 90]]) });
  });

  it.each(['acme', 'acme=', 'acme=0', 'acme=36501', 'acme=1.5', '=7', 'acme=7,', 'acme=7,acme=8'])(
    'refuses the tenants %j, and does not repeat them',
    (text) => {
      expect(() => readConfig({ ...env, TENANT_RETENTION_DAYS: text })).toThrow(
        /^Configuration: TENANT_RETENTION_DAYS must be none, or tenant=days[^:]*\.$/,
      );
    },
  );
});
