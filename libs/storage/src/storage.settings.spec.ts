import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readSettings } from '#lib/platform';
import { STORAGE_SETTINGS, storageOf, type StorageOptions } from './storage.settings.js';

const read = (env: Record<string, string>): StorageOptions => storageOf(readSettings(STORAGE_SETTINGS, env), '/data');

describe('the storage', () => {
  it('is a folder unless a bucket is named', () => {
    expect(read({})).toEqual({ kind: 'disk', dir: '/data/artifacts' });
    expect(read({ STORAGE_DIR: 'here' })).toEqual({ kind: 'disk', dir: path.resolve('here') });
    expect(read({ S3_BUCKET: 'artifacts' })).toEqual({
      kind: 's3',
      bucket: 'artifacts',
      endpoint: undefined,
      region: 'us-east-1',
      credentials: undefined,
      pathStyle: true,
    });
    const key = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };
    const s3 = { S3_BUCKET: 'artifacts', S3_ENDPOINT: 'https://s3.example', S3_REGION: 'x', S3_PATH_STYLE: 'false' };
    expect(read({ ...s3, ...key })).toEqual({
      kind: 's3',
      bucket: 'artifacts',
      endpoint: 'https://s3.example',
      region: 'x',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      pathStyle: false,
    });
  });

  it.each([
    [{ S3_ENDPOINT: 'https://word' }, 'S3_BUCKET is missing, S3_ENDPOINT needs it'],
    [{ S3_SECRET_ACCESS_KEY: 'word' }, 'S3_BUCKET is missing, S3_SECRET_ACCESS_KEY needs it'],
    [{ S3_BUCKET: 'artifacts', STORAGE_DIR: 'word' }, 'STORAGE_DIR and S3_BUCKET exclude each other'],
    [{ S3_BUCKET: 'artifacts', S3_ACCESS_KEY_ID: 'word' }, 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together'],
    [{ S3_BUCKET: 'Word!' }, 'S3_BUCKET must be the name of a bucket'],
    [{ S3_BUCKET: 'artifacts', S3_ENDPOINT: 'word' }, 'S3_ENDPOINT must be a URL'],
    [{ S3_BUCKET: 'artifacts', S3_PATH_STYLE: 'word' }, 'S3_PATH_STYLE must be one of true, false'],
  ])('is refused for %j with the names of what is wrong', (env, message) => {
    const attempt = (): unknown => read(env);
    expect(attempt).toThrow(message);
    expect(attempt).not.toThrow(/word/i);
  });
});
