/** The rules of a record, beside the back end and like it the same for every site. */
export const RECORDS_CODE = String.raw`// What a valid record is, which records a query wants, and how they look as CSV.
const OWN = new Set(['id', 'createdAt', 'updatedAt', 'votes']);
const COMPARABLE = new Set(['number', 'date', 'time', 'datetime-local']);
const EXACT = new Set(['number', 'select', 'checkbox', 'date', 'time', 'datetime-local']);
const WORDS = {
  en: {
    body: 'must be an object with the fields of one entry',
    unknown: 'is not a field here',
    required: 'is required',
    text: 'must be text',
    short: (n) => 'must have at least ' + n + ' characters',
    long: (n) => 'must have at most ' + n + ' characters',
    email: 'must be an e-mail address',
    tel: 'must be a phone number',
    url: 'must be a web address that starts with http:// or https://',
    date: 'must be a date written YYYY-MM-DD',
    time: 'must be a time written HH:MM',
    'datetime-local': 'must be a date and time written YYYY-MM-DDTHH:MM',
    color: 'must be a colour written #rrggbb',
    number: 'must be a number',
    integer: 'must be a whole number',
    min: (n) => 'must be at least ' + n,
    max: (n) => 'must be at most ' + n,
    choice: (all) => 'must be one of: ' + all.join(', '),
    checkbox: 'must be true or false',
    unique: 'is already taken',
  },
  zh: {
    body: '必须是包含一条记录各字段的对象',
    unknown: '不是这里的字段',
    required: '为必填项',
    text: '必须是文字',
    short: (n) => '至少需要 ' + n + ' 个字符',
    long: (n) => '最多 ' + n + ' 个字符',
    email: '必须是有效的邮箱地址',
    tel: '必须是有效的电话号码',
    url: '必须是以 http:// 或 https:// 开头的网址',
    date: '必须是 YYYY-MM-DD 格式的日期',
    time: '必须是 HH:MM 格式的时间',
    'datetime-local': '必须是 YYYY-MM-DDTHH:MM 格式的日期时间',
    color: '必须是 #rrggbb 格式的颜色',
    number: '必须是数字',
    integer: '必须是整数',
    min: (n) => '不能小于 ' + n,
    max: (n) => '不能大于 ' + n,
    choice: (all) => '必须是以下之一：' + all.join('、'),
    checkbox: '必须是 true 或 false',
    unique: '已被占用',
  },
};

/** The fields of a valid entry, or what is wrong by field. With partial, fields left out stay as they are. */
export function checkRecord(site, body, { partial = false, id, records = [] }) {
  const words = WORDS[site.language];
  const record = {};
  const errors = {};
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { record, errors: { body: words.body } };
  for (const name of Object.keys(body)) {
    if (!OWN.has(name) && !site.fields.some((field) => field.name === name)) errors[name] = words.unknown;
  }
  for (const field of site.fields) {
    const { name } = field;
    const given = Object.hasOwn(body, name) ? body[name] : undefined;
    if (given === undefined && partial) continue;
    const { value, error } = checkValue(field, given, words);
    const taken = field.unique && value !== null && records.some((other) => other.id !== id && other[name] === value);
    if (error !== undefined) errors[name] = error;
    else if (taken) errors[name] = words.unique;
    else record[name] = value;
  }
  return { record, errors };
}

function checkValue(field, given, words) {
  const value = typeof given === 'string' ? given.trim() : given;
  if (field.type === 'checkbox') return checkBox(field, value, words);
  if (field.type === 'multiselect') return checkMany(field, value, words);
  if (value === undefined || value === null || value === '') return field.required ? { error: words.required } : { value: null };
  if (field.type === 'number') return checkNumber(field, value, words);
  if (field.type === 'select') {
    return field.options.includes(String(value)) ? { value: String(value) } : { error: words.choice(field.options) };
  }
  if (typeof value !== 'string') return { error: words.text };
  if (Object.hasOwn(SHAPES, field.type) && !SHAPES[field.type](value)) return { error: words[field.type] };
  const length = Array.from(value).length;
  if (length < (field.minLength ?? 0)) return { error: words.short(field.minLength) };
  if (length > (field.maxLength ?? Infinity)) return { error: words.long(field.maxLength) };
  return { value };
}

function checkBox(field, value, words) {
  const empty = value === undefined || value === null || value === '';
  if (!empty && ![true, false, 'true', 'false', 'on'].includes(value)) return { error: words.checkbox };
  const on = value === true || value === 'true' || value === 'on';
  return field.required && !on ? { error: words.required } : { value: on };
}

function checkMany(field, value, words) {
  const many = value === undefined || value === null || value === '' ? [] : Array.isArray(value) ? value : [value];
  if (!many.every((one) => field.options.includes(one))) return { error: words.choice(field.options) };
  return field.required && many.length === 0 ? { error: words.required } : { value: [...new Set(many)] };
}

function checkNumber(field, value, words) {
  const number = typeof value === 'string' && /^[+-]?(\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return { error: words.number };
  if (field.integer && !Number.isInteger(number)) return { error: words.integer };
  if (number < (field.min ?? -Infinity)) return { error: words.min(field.min) };
  if (number > (field.max ?? Infinity)) return { error: words.max(field.max) };
  return { value: number };
}

function isDate(text) {
  const day = new Date(text + 'T00:00:00Z');
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(text);
const SHAPES = {
  email: (text) => /^[^\s@<>"]+@[^\s@<>".]+(\.[^\s@<>".]+)+$/.test(text),
  tel: (text) => /^[+(]?[\d][\d\s().\/x#-]{2,28}$/.test(text),
  url: (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  date: isDate,
  time: isTime,
  'datetime-local': (text) => isDate(text.slice(0, 10)) && /^[T ]$/.test(text[10] ?? '') && isTime(text.slice(11).replace(/(\.\d+)?Z?$/, '')),
  color: (text) => /^#[0-9a-f]{6}$/i.test(text),
};

/** Whether a record is wanted by a query: q searches all text, a field's name filters, with _min and _max at its end a range. */
export function matches(site, record, query) {
  const wanted = (query.get('q') ?? '').trim().toLowerCase();
  const text = site.fields.map(({ name }) => String(record[name] ?? '').toLowerCase());
  if (wanted !== '' && !text.some((one) => one.includes(wanted))) return false;
  return site.fields.every((field) => fits(field, record[field.name], query));
}

function fits(field, value, query) {
  const exact = query.get(field.name);
  if (exact !== null && exact !== '' && !equal(field, value, exact)) return false;
  if (!COMPARABLE.has(field.type)) return true;
  const low = query.get(field.name + '_min');
  const high = query.get(field.name + '_max');
  const as = (bound) => (field.type === 'number' ? Number(bound) : bound);
  if (low !== null && low !== '' && (value === null || value < as(low))) return false;
  return high === null || high === '' || (value !== null && value <= as(high));
}

function equal(field, value, wanted) {
  if (Array.isArray(value)) return value.includes(wanted);
  if (EXACT.has(field.type)) return String(value ?? '') === wanted;
  return String(value ?? '').toLowerCase().includes(wanted.toLowerCase());
}

export function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b);
  return a < b ? -1 : 1;
}

/** A byte order mark first, so that a spreadsheet reads it as UTF-8; cells that would be formulas get an apostrophe. */
export function toCsv(site, records) {
  const cell = (value) => {
    const text = Array.isArray(value) ? value.join('; ') : String(value ?? '');
    const safe = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const head = ['id', ...site.fields.map(({ label }) => label)];
  const rows = records.map((record) => [record.id, ...site.fields.map(({ name }) => record[name])]);
  return '\ufeff' + [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
`;
