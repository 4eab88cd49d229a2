import { PAGE_CODE, PAGE_STYLE } from './page.script.js';
import { renderPage } from './page.template.js';
import { renderReadme } from './readme.template.js';
import { RECORDS_CODE } from './records.template.js';
import { SERVER_CODE } from './server.template.js';
import type { SitePlan } from './site.plan.js';

export interface SiteFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: string;
}

export const ENTRY = 'index.html';
/** The only names a site's files have; names never come from a request or a model. */
export const FILE_TYPES: Readonly<Record<string, string>> = {
  [ENTRY]: 'text/html',
  'style.css': 'text/css',
  'app.js': 'text/javascript',
  'server.mjs': 'text/javascript',
  'records.mjs': 'text/javascript',
  'schema.json': 'application/json',
  'README.md': 'text/markdown',
};

/** The files of a plan. Only the page, the schema and the README hold words of the request; the code is the same for all. */
export function writeSite(plan: SitePlan): SiteFile[] {
  const { language, title, collection, fields, actions } = plan;
  const contents: Readonly<Record<string, string>> = {
    [ENTRY]: renderPage(plan),
    'style.css': PAGE_STYLE,
    'app.js': PAGE_CODE,
    'server.mjs': SERVER_CODE,
    'records.mjs': RECORDS_CODE,
    'schema.json': `${JSON.stringify({ title, language, collection, fields, actions }, undefined, 2)}\n`,
    'README.md': renderReadme(plan),
  };
  return Object.entries(FILE_TYPES).map(([name, mediaType]) => ({ name, mediaType, content: contents[name] ?? '' }));
}
