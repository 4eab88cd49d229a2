import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fillUrl, parseUrlTemplate } from './url-template.js';

const invalid = expect.objectContaining({ name: 'ToolError', code: 'invalid_arguments' });
const isText = (text: string): boolean => !/\p{Surrogate}/u.test(text);
const isSegment = (text: string): boolean => isText(text) && !['', '.', '..'].includes(text);
const template = parseUrlTemplate(
  'https://api.example:8443/v1/{city}/days/{day}-{night}?units={units}&q=a%20{q}&fix=1',
);

describe('a URL template', () => {
  it('puts arguments where they belong, escaped, and leaves parameters without one out', () => {
    const args = { city: 'São Paulo/../x?y#z', day: 3, night: true, q: 'b&c=d' };
    expect(fillUrl(template, args)).toBe(
      'https://api.example:8443/v1/S%C3%A3o%20Paulo%2F..%2Fx%3Fy%23z/days/3-true?q=a%20b%26c%3Dd&fix=1',
    );
  });

  it.each<Record<string, unknown>>([
    { city: '..' },
    { city: '.' },
    { city: '' },
    { city: null },
    {},
    { city: ['a'] },
    { city: { toString: 'x' } },
    { city: '\ud800' },
  ])('takes no %j for a segment of the path', (args) => {
    expect(() => fillUrl(template, { day: 1, night: 2, ...args })).toThrow(invalid);
  });

  it('reads no argument that the call does not have of its own', () => {
    const inherited = parseUrlTemplate('https://a.example/{constructor}');
    expect(() => fillUrl(inherited, {})).toThrow('/constructor is missing.');
  });

  it('keeps origin, segments and names of parameters whatever the arguments are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '%2e%2e', '\\', '//evil', '@evil', '\r\n', '?a=b', '#'),
    );
    fc.assert(
      fc.property(text, text, text, (city, units, q) => {
        fc.pre(isSegment(city) && isText(units) && isText(q));
        const url = new URL(fillUrl(template, { city, day: 'd', night: 'n', units, q }));
        expect(url.origin).toBe('https://api.example:8443');
        expect(url.pathname.split('/')).toEqual(['', 'v1', expect.any(String), 'days', 'd-n']);
        expect([...url.searchParams.keys()]).toEqual(['units', 'q', 'fix']);
        expect(decodeURIComponent(url.pathname.split('/')[2]!)).toBe(city);
        expect(url.searchParams.get('units')).toBe(units);
      }),
    );
  });

  it.each([
    'ftp://a.example/',
    'a.example/x',
    'https://{host}/x',
    'https://user@a.example/',
    'https://user:{p}@a.example/',
    'https://a.example:{port}/',
    'https://a.example/x#y',
    'https://a.example/{',
    'https://a.example/{a b}',
    'https://a.example/../x',
    'https://a.example/%2e%2E/x',
    'https://a.example/x?{name}=1',
    'https://a.example/x?=1',
    'https://a.example/%zz',
    'https://a.example/a\\b',
    'https://a.example/\n',
  ])('cannot be %j', (text) => {
    expect(() => parseUrlTemplate(text)).toThrow(expect.objectContaining({ name: 'TemplateError' }));
  });
});
