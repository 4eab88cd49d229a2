import { describe, expect, it } from '@jest/globals';
import { DEFAULT_TENANT_LIMITS, UNLIMITED } from './limits.js';
import { parseLimitsFile } from './limits-file.js';

describe('a limits file', () => {
  it('says otherwise of what it names, and leaves the rest as it is', () => {
    const table = parseLimitsFile(`
every_tenant: { open_streams: 7 }
every_key: { requests_per_second: 2 }
tenants:
  acme: { queued_tasks: 0, requests_per_second: unlimited }
  constructor: { open_waits: 1 }
keys:
  k1: { requests_per_second: 0.5, request_burst: 3 }
`);
    const everyTenant = { ...DEFAULT_TENANT_LIMITS, openStreams: 7 };
    expect(table.ofTenant('other')).toEqual(everyTenant);
    expect(table.ofTenant('acme')).toEqual({
      ...everyTenant,
      queuedTasks: 0,
      requestsPerSecond: Infinity,
      requestBurst: Infinity,
    });
    expect(table.ofTenant('constructor')).toEqual({ ...everyTenant, openWaits: 1 });
    expect(table.ofKey('other')).toEqual({ ...UNLIMITED, requestsPerSecond: 2, requestBurst: 20 });
    expect(table.ofKey('k1')).toEqual({ ...UNLIMITED, requestsPerSecond: 0.5, requestBurst: 3 });
  });

  it.each(['', '{}', 'every_tenant:', '# nothing'])('that says nothing (%j) leaves all as it is', (text) => {
    const table = parseLimitsFile(text);
    expect([table.ofTenant('any'), table.ofKey('any')]).toEqual([DEFAULT_TENANT_LIMITS, UNLIMITED]);
  });

  it.each([
    ['[]', 'the file must be a mapping'],
    ['every_tennant: {}', '/every_tennant is no section'],
    ['every_tenant: 5', '/every_tenant must be a mapping'],
    ['every_tenant: { open_streems: 1 }', '/every_tenant/open_streems is no limit; there are requests_per_second,'],
    ['every_tenant: { constructor: 1 }', '/every_tenant/constructor is no limit'],
    ['every_tenant: { open_streams: -1 }', '/every_tenant/open_streams must be unlimited or a number of at least 0'],
    ['every_tenant: { open_streams: 1.5 }', '/every_tenant/open_streams must be'],
    ['every_tenant: { open_streams: "7" }', '/every_tenant/open_streams must be'],
    ['every_tenant: { requests_per_second: 0 }', '/every_tenant/requests_per_second must be'],
    ['tenants: { a/b: { open_waits: none } }', '/tenants/a~1b/open_waits must be'],
    ['keys: { k: { artifact_bytes: 5 } }', '/keys/k/artifact_bytes is for tenants only'],
    ['every_key: { artifact_bytes: 5 }', '/every_key/artifact_bytes is for tenants only'],
    ['a: [', 'Flow sequence'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseLimitsFile(text)).toThrow(message);
  });
});
