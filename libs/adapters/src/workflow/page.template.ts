import { ACTION_WORDS } from './plan.words.js';
import type { SiteAction, SiteField, SitePlan } from './site.plan.js';

const WORDS = {
  en: {
    form: 'New entry',
    entries: 'Entries',
    empty: 'No entries yet.',
    choose: 'Choose…',
    all: 'All',
    yes: 'yes',
    no: 'no',
    from: 'from',
    to: 'to',
    sort: 'Sort',
    usual: 'Newest first',
    actions: 'Actions',
    script: 'This page needs JavaScript.',
  },
  zh: {
    form: '新记录',
    entries: '记录',
    empty: '还没有记录。',
    choose: '请选择…',
    all: '全部',
    yes: '是',
    no: '否',
    from: '从',
    to: '到',
    sort: '排序',
    usual: '最新在前',
    actions: '操作',
    script: '此页面需要 JavaScript。',
  },
} as const;
const ROW_ACTIONS: ReadonlySet<SiteAction['kind']> = new Set(['edit', 'delete', 'toggle', 'set', 'vote']);
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, in an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Joins markup with every value escaped; a value that is markup already comes as an array. */
function markup(parts: TemplateStringsArray, ...values: readonly (string | number | readonly string[])[]): string {
  return parts.reduce((whole, part, index) => {
    const value = values[index - 1] ?? '';
    return whole + (Array.isArray(value) ? value.join('') : escapeHtml(String(value))) + part;
  });
}

/** The page of a plan: every field in its form, every action as a control. */
export function renderPage(plan: SitePlan): string {
  const words = WORDS[plan.language];
  const create = actionsOf(plan, 'create')[0]?.label ?? ACTION_WORDS.create[plan.language];
  const list = actionsOf(plan, 'list')[0]?.label ?? words.entries;
  return markup`<!doctype html>
    <html lang="${plan.language === 'zh' ? 'zh-CN' : 'en'}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${plan.title}</title>
        <link rel="stylesheet" href="style.css" />
        <script type="module" src="app.js"></script>
      </head>
      <body>
        <main>
          <h1>${plan.title}</h1>
          <noscript><p>${words.script}</p></noscript>
          <form id="entry" aria-label="${words.form}" novalidate>
            ${plan.fields.map((field, index) => fieldMarkup(field, index, words.choose))}
            <div class="buttons">
              <button type="submit" data-action="create">${create}</button>
              ${actionsOf(plan, 'reset').map(({ label }) => markup`<button type="reset" data-action="reset">${label}</button>`)}
            </div>
          </form>
          ${[tools(plan)]}
      <section data-action="list" aria-label="${list}">
            <h2>${list}</h2>
            <p id="empty">${words.empty}</p>
            <table>
              <thead>
                <tr>
                  ${plan.fields.map(({ label }) => markup`<th scope="col">${label}</th>`)}
                  <th scope="col">${words.actions}</th>
                </tr>
              </thead>
              <tbody id="rows"></tbody>
            </table>
          </section>
          <template id="row"
            ><tr>
              <td class="row-actions">${plan.actions.filter(({ kind }) => ROW_ACTIONS.has(kind)).map(rowButton)}</td>
            </tr></template
          >
        </main>
      </body>
    </html> `;
}

function actionsOf(plan: SitePlan, ...kinds: readonly SiteAction['kind'][]): SiteAction[] {
  return plan.actions.filter(({ kind }) => kinds.includes(kind));
}

/** What works on the list as a whole. */
function tools(plan: SitePlan): string {
  return markup`<p id="status" role="status"></p>
          <div id="controls">${controls(plan)}</div>
          <div class="buttons">
            ${actionsOf(plan, 'export').map(({ label, value }) => markup`<a class="button" data-action="export" data-export="${value ?? 'csv'}" href="api/${plan.collection}/export.${value ?? 'csv'}" download>${label}</a> `)}
            ${actionsOf(plan, 'print').map(({ label }) => markup`<button type="button" id="print" data-action="print">${label}</button> `)}
            ${actionsOf(plan, 'clear').map(({ label }) => markup`<button type="button" id="clear" data-action="clear">${label}</button> `)}
          </div>
          <div id="numbers">
            ${actionsOf(plan, 'count', 'sum', 'average').map(({ kind, label, field }) => markup`<div data-action="${kind}">${label}: <output data-stat="${kind}" data-field="${field ?? ''}">0</output></div>`)}
          </div>`;
}

function rowButton({ kind, label, field, value }: SiteAction): string {
  return markup`<button
    type="button"
    data-action="${kind}"
    data-act="${kind}"
    data-field="${field ?? ''}"
    data-value="${value ?? ''}"
  >
    ${label}
  </button>`;
}

function fieldMarkup(field: SiteField, index: number, choose: string): string {
  const id = `f${String(index)}`;
  const error = markup`<span class="error" id="e${index}" aria-live="polite"></span>`;
  const mark = field.required ? 'required' : '';
  const common = [
    markup` id="${id}" name="${field.name}" aria-describedby="e${index}"`,
    field.required ? ' required' : '',
  ];
  if (field.type === 'checkbox')
    return markup`<div class="field check">
      <input type="checkbox" ${common} /><label for="${id}" class="${mark}">${field.label}</label>${[error]}
    </div>`;
  if (field.type === 'multiselect') {
    const boxes = (field.options ?? []).map(
      (option) => markup`<label><input type="checkbox" name="${field.name}" value="${option}" /> ${option}</label>`,
    );
    return markup`<fieldset class="field check">
      <legend class="${mark}">${field.label}</legend>
      ${boxes}${[error]}
    </fieldset>`;
  }
  const label = markup`<label for="${id}" class="${mark}">${field.label}</label>`;
  if (field.type === 'select') {
    const options = (field.options ?? []).map((option) => markup`<option value="${option}">${option}</option>`);
    return markup`<div class="field">${[label]}<select${common}><option value="">${choose}</option>${options}</select>${[error]}</div>`;
  }
  const lengths = [attribute('minlength', field.minLength), attribute('maxlength', field.maxLength)];
  if (field.type === 'textarea')
    return markup`<div class="field wide">${[label]}<textarea${common}${lengths}></textarea>${[error]}</div>`;
  const bounds =
    field.type === 'number'
      ? [attribute('min', field.min), attribute('max', field.max), field.integer ? ' step="1"' : ' step="any"']
      : [];
  return markup`<div class="field">${[label]}<input type="${field.type}" ${common}${lengths}${bounds} />${[error]}</div>`;
}

function attribute(name: string, value: number | undefined): string {
  return value === undefined ? '' : ` ${name}="${String(value)}"`;
}

function controls(plan: SitePlan): string[] {
  const words = WORDS[plan.language];
  const search = plan.actions
    .filter(({ kind }) => kind === 'search')
    .map(
      ({ label }) =>
        markup`<div class="field">
          <label for="search">${label}</label
          ><input type="search" id="search" data-action="search" data-query="q" placeholder="${label}" />
        </div>`,
    );
  const filters = plan.actions.flatMap((action, index) => {
    const field = action.kind === 'filter' ? plan.fields.find(({ name }) => name === action.field) : undefined;
    return field === undefined ? [] : [filterMarkup(action, field, { id: `q${String(index)}`, words })];
  });
  const sorts = plan.actions.filter(({ kind }) => kind === 'sort');
  const options = sorts.flatMap(({ label, field, value, descending }) =>
    (descending ? ['desc', 'asc'] : ['asc', 'desc']).map(
      (order) =>
        markup`<option value="${field ?? value ?? ''} ${order}" data-by="${field ?? value ?? ''}" data-order="${order}">
          ${label} ${order === 'asc' ? '↑' : '↓'}
        </option>`,
    ),
  );
  const sort =
    options.length === 0
      ? []
      : [
          markup`<div class="field">
            <label for="sort">${words.sort}</label
            ><select id="sort" data-action="sort">
              <option value="">${words.usual}</option>
              ${options}
            </select>
          </div>`,
        ];
  return [...search, ...filters, ...sort];
}

interface FilterPlace {
  readonly id: string;
  readonly words: (typeof WORDS)[keyof typeof WORDS];
}

function filterMarkup({ label }: SiteAction, field: SiteField, { id, words }: FilterPlace): string {
  const name = field.name;
  if (field.type === 'checkbox' || field.options !== undefined) {
    const choices =
      field.options?.map((option) => [option, option] as const) ??
      ([
        ['true', words.yes],
        ['false', words.no],
      ] as const);
    const options = choices.map(([value, text]) => markup`<option value="${value}">${text}</option>`);
    return markup`<div class="field">
      <label for="${id}">${label}</label
      ><select id="${id}" data-action="filter" data-query="${name}">
        <option value="">${words.all}</option>
        ${options}
      </select>
    </div>`;
  }
  if (['number', 'date', 'time', 'datetime-local'].includes(field.type)) {
    return markup`<fieldset class="field" data-action="filter">
      <legend>${label}</legend>
      <label>${words.from} <input type="${field.type}" step="any" data-query="${name}_min" /></label
      ><label>${words.to} <input type="${field.type}" step="any" data-query="${name}_max" /></label>
    </fieldset>`;
  }
  return markup`<div class="field">
    <label for="${id}">${label}</label><input type="search" id="${id}" data-action="filter" data-query="${name}" />
  </div>`;
}
