/**
 * The back end of every site: the same bytes whatever was asked for. What a request names reaches it as data only,
 * through schema.json, so nothing in a request can become code here.
 */
export const SERVER_CODE = String.raw`// The back end: Node's own modules only. Start it with: node server.mjs [port]
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkRecord, compare, matches, toCsv } from './records.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const site = JSON.parse(readFileSync(join(here, 'schema.json'), 'utf8'));
const base = '/api/' + site.collection;
const file = join(here, 'data', 'records.json');
const MAX_BODY = 64 * 1024;
const MAX_RECORDS = 10000;
const ASSETS = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/index.html': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/schema.json': ['schema.json', 'application/json; charset=utf-8'],
};
const can = (kind) => site.actions.some((action) => action.kind === kind);
const states = new Set(site.actions.filter(({ kind }) => kind === 'toggle' || kind === 'set').map(({ field }) => field));

mkdirSync(join(here, 'data'), { recursive: true });
const store = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { next: 1, records: [] };

function save() {
  // Written aside and renamed, so that a crash leaves the old or the new file, never half of one.
  writeFileSync(file + '.tmp', JSON.stringify(store));
  renameSync(file + '.tmp', file);
}

class Refusal extends Error {
  constructor(status, error, errors, headers) {
    super(error);
    Object.assign(this, { status, body: errors ? { error, errors } : { error }, headers });
  }
}

async function readBody(request) {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) throw new Refusal(415, 'send JSON with content-type application/json');
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Refusal(413, 'the body is larger than 64 KiB', undefined, { connection: 'close' });
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
}

function find(id) {
  const record = store.records.find((one) => String(one.id) === id);
  if (record === undefined) throw new Refusal(404, 'there is no entry ' + id);
  return record;
}

function checked(body, options) {
  const { record, errors } = checkRecord(site, body, { ...options, records: store.records });
  if (Object.keys(errors).length > 0) throw new Refusal(400, 'some fields are not valid', errors);
  return record;
}

function list(url) {
  const sort = url.searchParams.get('_sort');
  const down = url.searchParams.get('_order') === 'desc' ? -1 : 1;
  const offset = Math.max(0, Number(url.searchParams.get('_offset')) || 0);
  const limit = Math.max(0, Number(url.searchParams.get('_limit')) || MAX_RECORDS);
  const found = store.records.filter((record) => matches(site, record, url.searchParams));
  if (sort !== null) found.sort((a, b) => down * compare(a[sort], b[sort]));
  return { status: 200, body: found.slice(offset, offset + limit), headers: { 'x-total-count': String(found.length) } };
}

const routes = {
  'GET list': ({ url }) => list(url),
  'POST list': async ({ request }) => {
    if (store.records.length >= MAX_RECORDS) throw new Refusal(409, 'the store is full');
    const fields = checked(await readBody(request), {});
    const now = new Date().toISOString();
    const record = { id: store.next, ...fields, ...(can('vote') ? { votes: 0 } : {}), createdAt: now, updatedAt: now };
    store.next += 1;
    store.records.push(record);
    save();
    return { status: 201, body: record, headers: { location: base + '/' + record.id } };
  },
  'DELETE list': () => {
    store.records = [];
    save();
    return { status: 204 };
  },
  'GET export': ({ url, id }) => {
    const records = list(url).body;
    if (id === 'export.json') return { status: 200, body: records, headers: { 'content-disposition': 'attachment; filename="export.json"' } };
    return { status: 200, text: toCsv(site, records), type: 'text/csv; charset=utf-8', headers: { 'content-disposition': 'attachment; filename="export.csv"' } };
  },
  'GET one': ({ id }) => ({ status: 200, body: find(id) }),
  'PUT one': (context) => change(context, false),
  'PATCH one': (context) => change(context, true),
  'DELETE one': ({ id }) => {
    const record = find(id);
    store.records = store.records.filter((one) => one !== record);
    save();
    return { status: 204 };
  },
  'POST votes': ({ id }) => {
    const record = find(id);
    record.votes += 1;
    save();
    return { status: 200, body: record };
  },
};

async function change({ request, id }, partial) {
  const record = find(id);
  const fields = checked(await readBody(request), { partial, id: record.id });
  const only = Object.keys(fields).every((name) => states.has(name));
  if (!can('edit') && !only) throw new Refusal(403, 'only these fields can be changed: ' + [...states].join(', '));
  Object.assign(record, fields, { updatedAt: new Date().toISOString() });
  save();
  return { status: 200, body: record };
}

function allowed(what) {
  const verbs = [];
  if (what === 'list') verbs.push('GET', 'POST', ...(can('clear') ? ['DELETE'] : []));
  if (what === 'export' && can('export')) verbs.push('GET');
  if (what === 'votes' && can('vote')) verbs.push('POST');
  if (what === 'one') verbs.push('GET', ...(can('edit') ? ['PUT'] : []), ...(can('edit') || states.size > 0 ? ['PATCH'] : []), ...(can('delete') ? ['DELETE'] : []));
  return verbs;
}

function locate(path) {
  if (path === base || path === base + '/') return { what: 'list' };
  const [id, rest, more] = path.slice(base.length + 1).split('/');
  if (!path.startsWith(base + '/') || more !== undefined) return undefined;
  if (rest === 'votes') return { what: 'votes', id };
  if (rest !== undefined) return undefined;
  return { what: id === 'export.csv' || id === 'export.json' ? 'export' : 'one', id };
}

async function answer(request) {
  const url = new URL(request.url, 'http://site');
  const asset = Object.hasOwn(ASSETS, url.pathname) ? ASSETS[url.pathname] : undefined;
  if (asset !== undefined && (request.method === 'GET' || request.method === 'HEAD')) {
    return { status: 200, text: readFileSync(join(here, asset[0]), 'utf8'), type: asset[1] };
  }
  const place = locate(url.pathname);
  if (place === undefined) throw new Refusal(404, 'there is nothing here');
  const verbs = allowed(place.what);
  if (!verbs.includes(request.method)) throw new Refusal(verbs.length > 0 ? 405 : 404, 'not offered here', undefined, { allow: verbs.join(', ') });
  return routes[request.method + ' ' + place.what]({ request, url, id: place.id });
}

function send(response, { status, body, text, type, headers }) {
  const content = text ?? (body === undefined ? '' : JSON.stringify(body));
  response.writeHead(status, {
    ...(content === '' ? {} : { 'content-type': type ?? 'application/json; charset=utf-8' }),
    'content-length': Buffer.byteLength(content),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(content);
}

const server = createServer((request, response) => {
  answer(request).then(
    (reply) => send(response, reply),
    (error) => {
      if (error instanceof Refusal) send(response, error);
      else {
        console.error(error);
        send(response, { status: 500, body: { error: 'something went wrong' } });
      }
    },
  );
});
const port = Number(process.argv[2] ?? process.env.PORT ?? 3000);
server.listen(port, process.env.HOST ?? '127.0.0.1', () => {
  console.log('listening on http://127.0.0.1:' + server.address().port);
});
`;
