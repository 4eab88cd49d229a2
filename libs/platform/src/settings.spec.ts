import { describe, expect, it } from '@jest/globals';
import { anyText, integerFrom, oneOf, readSettings, urlOf } from './settings.js';

const TABLE = {
  PORT: { default: '3000', meaning: 'where we listen', ...integerFrom(0, 65_535) },
  DATABASE_URL: { required: true, meaning: 'the database', ...urlOf('postgres', 'postgresql') },
  LOG_LEVEL: { default: 'info', meaning: 'how much is logged', ...oneOf('debug', 'info') },
  ADMIN_API_KEY: { meaning: 'a key', ...anyText },
} as const;

describe('readSettings', () => {
  it('gives values, defaults, and undefined for what is optional; an empty variable is an absent one', () => {
    const values = readSettings(TABLE, { DATABASE_URL: 'postgres://u:p@h/d', PORT: '80', LOG_LEVEL: '' });
    expect(values).toEqual({ PORT: 80, DATABASE_URL: 'postgres://u:p@h/d', LOG_LEVEL: 'info' });
    expect(values.ADMIN_API_KEY).toBeUndefined();
  });

  it('names every fault at once with what is expected, and no value', () => {
    const read = (): unknown => readSettings(TABLE, { PORT: '70000', LOG_LEVEL: 'secret-word' });
    expect(read).toThrow(
      'Configuration: PORT must be a whole number from 0 to 65535; ' +
        'DATABASE_URL is missing, it must be a URL that begins with postgres:// or postgresql://; ' +
        'LOG_LEVEL must be one of debug, info.',
    );
  });

  it.each(['1e3', '-1', '0x10', ' 1', '1.0', 'abc'])('does not take %j for a whole number', (PORT) => {
    expect(() => readSettings(TABLE, { PORT, DATABASE_URL: 'postgres://h/d' })).toThrow('PORT must be');
  });

  it.each(['mysql://h/d', 'localhost:5432', 'h'])('does not take %j for the URL of a database', (DATABASE_URL) => {
    expect(() => readSettings(TABLE, { DATABASE_URL })).toThrow('DATABASE_URL must be');
  });
});
