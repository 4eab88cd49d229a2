import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { digestOf, fileNameOf, mediaTypeOf } from './raw-body.js';

const headed = (headers: IncomingHttpHeaders): IncomingMessage => ({ headers }) as IncomingMessage;

describe('the name of a file', () => {
  it.each([
    [undefined, undefined],
    ['attachment', undefined],
    ['attachment; filename=plain.txt', 'plain.txt'],
    ['attachment; filename="two words.txt"', 'two words.txt'],
    ['attachment; filename="a \\"b\\" c"', 'a "b" c'],
    ['attachment; filename="x"; filename*=UTF-8\'\'%e2%82%ac%20rates', '€ rates'],
    [`attachment; filename="${Buffer.from('Übung').toString('latin1')}"`, 'Übung'],
    [`attachment; filename="${Buffer.from([0xdc]).toString('latin1')}"`, 'Ü'],
  ])('in %j is %j', (header, name) => {
    expect(fileNameOf(headed({ 'content-disposition': header }))).toBe(name);
  });

  it('that is no UTF-8 is refused', () => {
    const broken = headed({ 'content-disposition': "attachment; filename*=UTF-8''%ff" });
    expect(() => fileNameOf(broken)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('a media type', () => {
  it.each([
    [undefined, 'application/octet-stream'],
    ['image/png', 'image/png'],
    ['text/plain; charset=utf-8', 'text/plain; charset=utf-8'],
  ])('%j is taken as %j', (header, type) => {
    expect(mediaTypeOf(headed({ 'content-type': header }))).toBe(type);
  });

  it.each([
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'nonsense' },
    { 'content-type': 'text/plain\tx' },
    { 'content-type': `text/${'x'.repeat(200)}` },
    { 'content-encoding': 'gzip' },
  ])('of %j is refused', (headers) => {
    expect(() => mediaTypeOf(headed(headers))).toThrow(expect.objectContaining({ code: 'unsupported_media_type' }));
  });
});

describe('an announced digest', () => {
  const hex = 'ab'.repeat(32);
  const base64 = Buffer.from(hex, 'hex').toString('base64');
  it.each([
    [{}, undefined],
    [{ 'x-sha256': hex }, { header: 'x-sha256', sha256: hex }],
    [{ 'x-sha256': hex.toUpperCase() }, { header: 'x-sha256', sha256: hex }],
    [{ 'content-digest': `sha-256=:${base64}:` }, { header: 'content-digest', sha256: hex }],
    [{ digest: `md5=x, SHA-256=${base64}` }, { header: 'digest', sha256: hex }],
    [{ digest: 'md5=HUXZLQLMuI/KZ5KDcJPcOA==' }, undefined],
  ])('in %j is %j', (headers, digest) => {
    expect(digestOf({ headers: headers })).toEqual(digest);
  });

  it.each([{ 'x-sha256': 'x' }, { 'x-sha256': `${hex}0` }, { 'content-digest': `sha-256=${base64}` }])(
    'in %j is refused',
    (headers) => {
      expect(() => digestOf({ headers: headers })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );
});
