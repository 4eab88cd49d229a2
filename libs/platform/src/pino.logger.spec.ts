import { describe, expect, it } from '@jest/globals';
import { PinoLogger } from './pino.logger.js';

function setUp(): { logger: PinoLogger; lines: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const destination = { write: (line: string): void => void written.push(line) };
  const logger = PinoLogger.create({ level: 'info', fields: { service: 'test' }, destination });
  return { logger, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('PinoLogger', () => {
  it('writes what an error says of itself and its cause, and nothing a driver has hung on it', () => {
    const { logger, lines } = setUp();
    const cause = Object.assign(new Error('inner'), { code: '23505', detail: 'Key (secret)=(x)' });
    logger.child({ taskId: 't' }).warn('it failed', { error: new TypeError('outer', { cause }) });
    expect(lines()).toMatchObject([
      {
        service: 'test',
        taskId: 't',
        msg: 'it failed',
        error: {
          type: 'TypeError',
          message: 'outer',
          stack: expect.any(String),
          cause: { code: '23505', message: 'inner' },
        },
      },
    ]);
    expect(JSON.stringify(lines())).not.toContain('secret');
  });

  it.each([
    ['a key', `swy_a1_${'x_-9'.repeat(8)}`],
    ['a header', 'Authorization: Bearer abcdefghijklmnop1'],
    ['a password in a URL', 'postgres://app:abcdefghijklmnop1@db/x'],
    ['a signed link', '/v1/artifacts/art_1/content?exp=1&sig=db.abcdefghijklmnop1x_-9x_-9'],
  ])('never shows %s, wherever in a line it stands, and every line stays JSON', (_, secret) => {
    const { logger, lines } = setUp();
    logger.info(`a ${secret}`, { deep: { er: [`b "${secret}"`] } });
    logger
      .child({ name: secret })
      .warn('it failed', { error: new Error(`c ${secret}\n`, { cause: new Error(secret) }) });
    expect(lines()).toHaveLength(2);
    expect(JSON.stringify(lines())).not.toMatch(/x_-9x_-9|ijklmnop/);
    expect(lines()).toMatchObject([{ deep: { er: [expect.stringContaining('[redacted]')] } }, { msg: 'it failed' }]);
  });

  it('never shows secrets', () => {
    const { logger, lines } = setUp();
    logger.info('hello', { token: 'xyzzy', nested: { password: 'xyzzy', name: 'n' } });
    expect(JSON.stringify(lines())).not.toContain('xyzzy');
    expect(lines()).toMatchObject([{ nested: { name: 'n' } }]);
  });
});
