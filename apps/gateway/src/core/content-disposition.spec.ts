import { describe, expect, it } from '@jest/globals';
import { contentDisposition } from './content-disposition.js';

describe('contentDisposition', () => {
  it.each([
    ['report.txt', 'attachment; filename="report.txt"'],
    ['my report.txt', `attachment; filename="my report.txt"; filename*=UTF-8''my%20report.txt`],
    ['报告.pdf', `attachment; filename="__.pdf"; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf`],
    ['a"b\\c.txt', 'attachment; filename="c.txt"'],
    ['a"b.txt', `attachment; filename="a_b.txt"; filename*=UTF-8''a%22b.txt`],
    ["it's (1)*!.txt", `attachment; filename="it's (1)*!.txt"; filename*=UTF-8''it%27s%20%281%29%2A%21.txt`],
    ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
    ['../../etc/passwd', 'attachment; filename="passwd"'],
    ['C:\\x\\y.txt', 'attachment; filename="y.txt"'],
    ['..', 'attachment; filename="artifact"'],
    ['dir/', 'attachment; filename="artifact"'],
    ['', 'attachment; filename="artifact"'],
    ['a\r\nSet-Cookie: x', `attachment; filename="a__Set-Cookie: x"; filename*=UTF-8''a__Set-Cookie%3A%20x`],
    ['\ud800.txt', 'attachment; filename="_.txt"'],
  ])('of %j is %s', (name, expected) => {
    expect(contentDisposition(name)).toBe(expected);
  });

  it('bounds a name as long as a book, without half a character at its end', () => {
    const header = contentDisposition('😀'.repeat(5_000));
    expect(header.length).toBeLessThan(3_000);
    expect(() => decodeURIComponent(header.split("''")[1]!)).not.toThrow();
  });
});
