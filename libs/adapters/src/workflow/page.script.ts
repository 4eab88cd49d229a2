/** The page's script: the same bytes for every site, told by schema.json what to do, writing stored text as text only. */
export const PAGE_CODE = String.raw`const WORDS = {
  en: { saved: 'Saved.', deleted: 'Deleted.', sure: 'Delete this entry?', all: 'Delete all entries?', failed: 'That did not work.', none: 'No entries yet.', yes: 'yes', no: 'no', save: 'Save', entries: 'entries' },
  zh: { saved: '已保存。', deleted: '已删除。', sure: '确定删除这条记录吗？', all: '确定删除全部记录吗？', failed: '操作失败。', none: '还没有记录。', yes: '是', no: '否', save: '保存', entries: '条' },
};
const site = await (await fetch('schema.json')).json();
const words = WORDS[site.language];
const api = 'api/' + site.collection;
const form = document.getElementById('entry');
const submit = form.querySelector('[type=submit]');
const addLabel = submit.textContent;
const rows = document.getElementById('rows');
const rowTemplate = document.getElementById('row');
const controls = document.getElementById('controls');
const status = document.getElementById('status');
let editing = null;

async function call(path, options = {}) {
  const response = await fetch(path, { ...options, headers: options.body ? { 'content-type': 'application/json' } : {} });
  const body = response.status === 204 ? null : await response.json();
  if (!response.ok) throw Object.assign(new Error(body.error), { errors: body.errors ?? {} });
  return body;
}

function inputsOf(field) {
  return [...form.elements].filter((element) => element.name === field.name);
}

function readForm() {
  const record = {};
  for (const field of site.fields) {
    const inputs = inputsOf(field);
    if (field.type === 'multiselect') record[field.name] = inputs.filter((input) => input.checked).map((input) => input.value);
    else if (field.type === 'checkbox') record[field.name] = inputs[0].checked;
    else record[field.name] = inputs[0].value;
  }
  return record;
}

function fillForm(record) {
  for (const field of site.fields) {
    for (const input of inputsOf(field)) {
      if (field.type === 'multiselect') input.checked = record[field.name].includes(input.value);
      else if (field.type === 'checkbox') input.checked = record[field.name];
      else input.value = record[field.name] ?? '';
    }
  }
}

function showErrors(errors) {
  site.fields.forEach((field, index) => {
    const message = errors[field.name] ?? '';
    document.getElementById('e' + index).textContent = message;
    for (const input of inputsOf(field)) input.setAttribute('aria-invalid', message === '' ? 'false' : 'true');
  });
}

function leaveEditing() {
  editing = null;
  submit.textContent = addLabel;
  form.reset();
  showErrors({});
}

function textOf(field, value) {
  if (field.type === 'checkbox') return value ? words.yes : words.no;
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

function cellOf(field, value) {
  const cell = document.createElement('td');
  cell.dataset.label = field.label;
  if (field.type === 'url' && /^https?:/i.test(value ?? '')) {
    const link = document.createElement('a');
    Object.assign(link, { href: value, rel: 'noopener noreferrer', target: '_blank', textContent: value });
    cell.append(link);
  } else cell.textContent = textOf(field, value);
  return cell;
}

function rowOf(record) {
  const row = rowTemplate.content.firstElementChild.cloneNode(true);
  row.dataset.id = record.id;
  row.prepend(...site.fields.map((field) => cellOf(field, record[field.name])));
  for (const button of row.querySelectorAll('button')) {
    if (button.dataset.act === 'vote') button.append(' (' + record.votes + ')');
    if (button.dataset.act === 'toggle') button.setAttribute('aria-pressed', String(Boolean(record[button.dataset.field])));
    button.addEventListener('click', () => act(button, record));
  }
  return row;
}

function queryOf() {
  const query = new URLSearchParams();
  for (const input of controls.querySelectorAll('[data-query]')) if (input.value !== '') query.set(input.dataset.query, input.value);
  const sort = document.getElementById('sort');
  if (sort !== null && sort.value !== '') {
    query.set('_sort', sort.selectedOptions[0].dataset.by);
    query.set('_order', sort.selectedOptions[0].dataset.order);
  } else {
    query.set('_sort', 'id');
    query.set('_order', 'desc');
  }
  return query;
}

function showNumbers(records) {
  for (const output of document.querySelectorAll('output[data-stat]')) {
    const values = records.map((record) => record[output.dataset.field]).filter((value) => typeof value === 'number');
    const sum = values.reduce((total, value) => total + value, 0);
    const results = { count: records.length, sum, average: values.length === 0 ? 0 : sum / values.length };
    output.textContent = String(Math.round(results[output.dataset.stat] * 100) / 100);
  }
}

async function refresh() {
  const query = queryOf();
  const records = await call(api + '?' + query);
  rows.replaceChildren(...records.map(rowOf));
  document.getElementById('empty').hidden = records.length > 0;
  for (const link of document.querySelectorAll('a[data-export]')) link.href = api + '/export.' + link.dataset.export + '?' + query;
  showNumbers(records);
}

async function attempt(work, done) {
  try {
    await work();
    status.textContent = done;
    await refresh();
  } catch (error) {
    showErrors(error.errors ?? {});
    status.textContent = words.failed + ' ' + error.message;
  }
}

function act(button, record) {
  const { act: kind, field, value } = button.dataset;
  const path = api + '/' + record.id;
  const patch = (change) => attempt(() => call(path, { method: 'PATCH', body: JSON.stringify(change) }), words.saved);
  if (kind === 'edit') {
    editing = record.id;
    fillForm(record);
    showErrors({});
    submit.textContent = words.save;
    status.textContent = '';
    form.scrollIntoView();
    form.elements[0].focus();
  } else if (kind === 'delete') {
    if (confirm(words.sure)) attempt(() => call(path, { method: 'DELETE' }), words.deleted);
  } else if (kind === 'vote') attempt(() => call(path + '/votes', { method: 'POST' }), words.saved);
  else if (kind === 'toggle') patch({ [field]: !record[field] });
  else if (kind === 'set') patch({ [field]: value });
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const path = editing === null ? api : api + '/' + editing;
  const options = { method: editing === null ? 'POST' : 'PUT', body: JSON.stringify(readForm()) };
  attempt(async () => {
    await call(path, options);
    leaveEditing();
  }, words.saved);
});
form.addEventListener('reset', () => {
  editing = null;
  submit.textContent = addLabel;
});
controls.addEventListener('input', () => attempt(() => undefined, ''));
document.getElementById('print')?.addEventListener('click', () => print());
document.getElementById('clear')?.addEventListener('click', () => {
  if (confirm(words.all)) attempt(() => call(api, { method: 'DELETE' }), words.deleted);
});
await attempt(() => undefined, '');
`;

export const PAGE_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: color-mix(in srgb, currentColor 25%, transparent); --accent: #1f5fbf; }
* { box-sizing: border-box; }
body { max-width: 64rem; margin: 0 auto; padding: 1rem; }
h1 { margin: 0 0 1rem; overflow-wrap: anywhere; }
form, #controls, #numbers { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin-bottom: 1rem; display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
#controls:empty, #numbers:empty { display: none; }
.field { display: flex; flex-direction: column; gap: .25rem; min-width: 0; border: 0; margin: 0; padding: 0; }
.field.wide, .buttons { grid-column: 1 / -1; }
.check, .check label { display: flex; flex-direction: row; align-items: center; gap: .5rem; flex-wrap: wrap; }
.required::after { content: " *"; color: #b3261e; }
.error { color: #b3261e; font-size: .875rem; min-height: 1em; }
input:not([type=checkbox]), select, textarea { width: 100%; font: inherit; padding: .4rem; border: 1px solid var(--line); border-radius: .3rem; }
textarea { min-height: 5rem; }
button, a.button { font: inherit; padding: .4rem .8rem; border: 1px solid var(--line); border-radius: .3rem; background: transparent; color: inherit; text-decoration: none; cursor: pointer; }
button[aria-pressed=true] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
button[type=submit] { background: var(--accent); color: #fff; border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
#numbers { margin-top: 1rem; }
.buttons, .row-actions { display: flex; flex-wrap: wrap; gap: .5rem; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: start; vertical-align: top; padding: .5rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td[data-label] { white-space: pre-line; }
@media (max-width: 40rem) { thead { display: none; } tr { display: block; padding: .5rem 0; } td { display: block; border: 0; padding: .2rem .5rem; } td[data-label]::before { content: attr(data-label) ": "; font-weight: 600; } tr { border-bottom: 1px solid var(--line); } }
@media print { form, #controls, .row-actions, .buttons { display: none; } }
`;
