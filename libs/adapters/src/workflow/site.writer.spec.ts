import { describe, expect, it } from '@jest/globals';
import { unzipSync } from 'fflate';
import { archiveSite } from './site.archive.js';
import { planSite } from './site.planner.js';
import { writeSite } from './site.writer.js';

const HOSTILE =
  'A list with "</script><script>alert(1)</script>", name" onfocus="alert(2), ${process.exit()} and `rm -rf`, ../../etc/passwd (a<b, "c"). Title: \'; process.exit(); \'';

function contentOf(request: string, name: string): string {
  return writeSite(planSite(request)).find((file) => file.name === name)?.content ?? '';
}

describe('writing a site', () => {
  it('puts every field and action into the page', () => {
    const page = contentOf(
      'a form with first name, email and size (S, M, L); search, export CSV, delete',
      'index.html',
    );
    for (const part of [
      'name="first_name"',
      'First name',
      'type="email"',
      '<option value="M">',
      'Search',
      'Export CSV',
      'Delete',
    ]) {
      expect(page).toContain(part);
    }
  });

  it('never lets words of the request become markup', () => {
    const page = contentOf(HOSTILE, 'index.html');
    expect(page.match(/<script\b/g)).toHaveLength(1);
    expect(page).not.toMatch(/<[^>]*\son\w+=["']/);
    expect(page).not.toContain('a<b');
  });

  it('writes the same code for every request, so that no request can become code', () => {
    for (const name of ['server.mjs', 'records.mjs', 'app.js', 'style.css']) {
      expect(contentOf(HOSTILE, name)).toBe(contentOf('做一个留言板', name));
    }
  });

  it('keeps words of the request plain text in the README', () => {
    const readme = contentOf('a list with [click](javascript:alert) and <img>', 'README.md');
    expect(readme).not.toMatch(/(?<!\\)[\](]\(?javascript|(?<!\\)<img/);
  });

  it('packs all files under one folder, the same bytes each time', () => {
    const files = writeSite(planSite('a guest book with name and message'));
    const archive = archiveSite(files, 'guest-book');
    expect(Object.keys(unzipSync(archive)).sort()).toEqual(files.map(({ name }) => `guest-book/${name}`).sort());
    expect(archiveSite(files, 'guest-book')).toEqual(archive);
  });
});
