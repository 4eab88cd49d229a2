import type { SiteField, SitePlan } from './site.plan.js';

/** The README of a site. Words from the request stand in code spans or after a backslash, so that they stay text. */
export function renderReadme(plan: SitePlan): string {
  const path = `/api/${plan.collection}`;
  const can = (kind: string): boolean => plan.actions.some((action) => action.kind === kind);
  const routes = [
    `| GET ${path} | all entries; \`q\` searches, a field's name filters, \`_sort\`, \`_order\`, \`_limit\`, \`_offset\` |`,
    `| POST ${path} | adds one: 201 with the entry, 400 with \`errors\` by field |`,
    `| GET ${path}/{id} | one entry |`,
    can('edit') ? `| PUT, PATCH ${path}/{id} | changes one, wholly or in part |` : '',
    !can('edit') && (can('toggle') || can('set')) ? `| PATCH ${path}/{id} | sets its state |` : '',
    can('delete') ? `| DELETE ${path}/{id} | deletes one |` : '',
    can('clear') ? `| DELETE ${path} | deletes all |` : '',
    can('vote') ? `| POST ${path}/{id}/votes | counts a vote |` : '',
    can('export') ? `| GET ${path}/export.csv, ${path}/export.json | a download |` : '',
  ].filter((line) => line !== '');
  return `# ${plain(plan.title)}

A page with its back end. It needs Node 20 or newer and nothing else.

    node server.mjs 3000

Then open http://127.0.0.1:3000/. Entries are kept in \`data/records.json\` beside the server.

| file | what it is |
|---|---|
| index.html, style.css, app.js | the page |
| server.mjs, records.mjs | the back end: routes and storage, validation and queries |
| schema.json | title, fields and actions; both sides follow it |

## API

| call | does |
|---|---|
${routes.join('\n')}

## Fields

| key | label | type | rules |
|---|---|---|---|
${plan.fields.map((field) => `| ${plain(field.name)} | ${plain(field.label)} | ${field.type} | ${plain(rulesOf(field))} |`).join('\n')}
${section('Not built', plan.unsupported)}${section('Notes', plan.notes)}`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n## ${title}\n\n${lines.map((line) => `- ${plain(line)}`).join('\n')}\n`;
}

function rulesOf(field: SiteField): string {
  const rules = [
    field.required ? 'required' : 'optional',
    field.options === undefined ? '' : `one of: ${field.options.join(', ')}`,
    field.min === undefined ? '' : `at least ${String(field.min)}`,
    field.max === undefined ? '' : `at most ${String(field.max)}`,
    field.integer ? 'whole' : '',
    field.minLength === undefined ? '' : `${String(field.minLength)} characters or more`,
    field.maxLength === undefined ? '' : `${String(field.maxLength)} characters or fewer`,
    field.unique ? 'unique' : '',
  ];
  return rules.filter((rule) => rule !== '').join('; ');
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]()#+!|<>~&-]/g, '\\$&');
}
