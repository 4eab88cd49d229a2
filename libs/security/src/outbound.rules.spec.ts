import { describe, expect, it } from '@jest/globals';
import { admits, type Destination, parseOutboundRules } from './outbound.rules.js';

const isAdmitted = (rules: string, address: string, destination: Partial<Destination> = {}): boolean =>
  parseOutboundRules(rules)!.some((rule) =>
    admits(rule, { purpose: 'tool', host: 'api.internal', port: 443, ...destination }, address),
  );

describe('the rules for outbound requests', () => {
  it('admit what is in their range, for their purposes, on their port', () => {
    const rules = 'tool|mcp=10.1.0.0/16, *=127.0.0.1:9000';
    expect(isAdmitted(rules, '10.1.2.3')).toBe(true);
    expect(isAdmitted(rules, '10.2.2.3')).toBe(false);
    expect(isAdmitted(rules, '10.1.2.3', { purpose: 'webhook' })).toBe(false);
    expect(isAdmitted(rules, '127.0.0.1', { purpose: 'webhook', port: 9000 })).toBe(true);
    expect(isAdmitted(rules, '127.0.0.1', { port: 9001 })).toBe(false);
  });

  it('admit all addresses of a host they name, and no other host at the same address', () => {
    expect(isAdmitted('*=API.internal:443', '10.0.0.1')).toBe(true);
    expect(isAdmitted('*=api.internal', '10.0.0.1', { host: 'x.api.internal' })).toBe(false);
    expect(isAdmitted('*=*.api.internal', '10.0.0.1', { host: 'x.api.internal' })).toBe(true);
    expect(isAdmitted('*=*.api.internal', '10.0.0.1', { host: 'xapi.internal' })).toBe(false);
    expect(isAdmitted('*=*.api.internal', '10.0.0.1')).toBe(false);
  });

  it('admit a metadata service by its address only', () => {
    expect(isAdmitted('*=api.internal', '169.254.169.254')).toBe(false);
    expect(isAdmitted('*=169.254.169.254', '169.254.169.254')).toBe(true);
  });

  it('admit IPv6 by IPv6, also where it stands for IPv4', () => {
    expect(isAdmitted('*=[fd12::]/16:443', 'fd12::1')).toBe(true);
    expect(isAdmitted('*=10.0.0.0/8', '::ffff:10.0.0.1')).toBe(false);
    expect(isAdmitted('*=[::ffff:10.0.0.0]/104', '::ffff:10.0.0.1')).toBe(true);
  });

  it.each([
    ...['', 'tool', 'tool=', '=10.0.0.1', 'tools=10.0.0.1', 'tool|=10.0.0.1', 'tool=10.0.0.1:0', 'tool=10.0.0.1:65536'],
    ...[
      '*=http://a',
      '*=a b',
      '*=10.0.0',
      '*=0x7f.1',
      '*=10.0.0.1/33',
      '*=*',
      '*=a..b',
      '*=[::1',
      '*=fd00::1',
      '*=a,,*=b',
    ],
  ])('are not read from %j', (text) => {
    expect(parseOutboundRules(text)).toBeUndefined();
  });
});
