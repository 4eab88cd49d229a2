import { isDeepStrictEqual } from 'node:util';
import { escapeHtml } from './page.template.js';
import type { SiteChild } from './site.child.js';
import { callSite, type Reply } from './site.http.js';
import { badValues, goodValue } from './site.samples.js';
import type { SiteAction, SiteField, SitePlan } from './site.plan.js';

export interface SiteCheck {
  readonly name: string;
  readonly ok: boolean;
}
export interface SiteReport {
  readonly passed: number;
  readonly failed: number;
  readonly checks: readonly SiteCheck[];
}
type Call = (method: string, path: string, body?: unknown) => Promise<Reply>;
interface Site {
  readonly plan: SitePlan;
  readonly call: Call;
  readonly base: string;
  check(name: string, ok: boolean): void;
  can(kind: SiteAction['kind']): boolean;
}

export function reportOf(checks: readonly SiteCheck[]): SiteReport {
  const failed = checks.filter(({ ok }) => !ok).length;
  return { passed: checks.length - failed, failed, checks };
}

/** Checks that the page of a plan shows its fields and actions. */
export function checkPage(plan: SitePlan, page: string): SiteCheck[] {
  const fields = plan.fields.map(({ name, label }) => ({
    name: `page: field ${label}`,
    ok: page.includes(`name="${escapeHtml(name)}"`) && page.includes(escapeHtml(label)),
  }));
  const actions = plan.actions.map(({ kind, label }) => ({
    name: `page: action ${label}`,
    ok: page.includes(`data-action="${kind}"`) && page.includes(escapeHtml(label)),
  }));
  return [...fields, ...actions];
}

/** Uses a running site as its visitors would: stores, reads back, breaks every rule, changes, deletes. */
export async function testSite(plan: SitePlan, child: SiteChild, signal?: AbortSignal): Promise<SiteReport> {
  const checks: SiteCheck[] = [];
  const site: Site = {
    plan,
    call: (method, path, body) => callSite(child.port, { method, path, body, signal }),
    base: `/api/${plan.collection}`,
    check: (name, ok) => void checks.push({ name, ok }),
    can: (kind) => plan.actions.some((action) => action.kind === kind),
  };
  const page = await site.call('GET', '/');
  site.check('page: served', page.status === 200);
  checks.push(...checkPage(plan, page.text));
  site.check(
    'page: nothing outside the site is served',
    (await site.call('GET', '/..%2f..%2fetc/passwd')).status === 404,
  );
  const ids = await testStoring(site);
  await testRefusals(site);
  await testFinding(site);
  for (const id of ids.slice(0, 1)) {
    await testChanging(site, id);
    await testDeleting(site, id);
  }
  return reportOf(checks);
}

function sample(plan: SitePlan, n: number): Record<string, unknown> {
  return Object.fromEntries(plan.fields.map((field) => [field.name, goodValue(field, n)]));
}

function holds(record: unknown, expected: Record<string, unknown>): boolean {
  if (typeof record !== 'object' || record === null) return false;
  return Object.entries(expected).every(([name, value]) =>
    isDeepStrictEqual(Object.getOwnPropertyDescriptor(record, name)?.value, value),
  );
}

async function testStoring(site: Site): Promise<string[]> {
  const ids: string[] = [];
  for (const n of [1, 2]) {
    const body = sample(site.plan, n);
    const stored = await site.call('POST', site.base, body);
    const id = idOf(stored.json);
    site.check(`store: entry ${String(n)}`, stored.status === 201 && holds(stored.json, body));
    if (id === undefined) continue;
    ids.push(id);
    const read = await site.call('GET', `${site.base}/${id}`);
    site.check(`return: entry ${String(n)}`, read.status === 200 && holds(read.json, body));
  }
  const list = await site.call('GET', site.base);
  site.check(
    'return: the list',
    list.status === 200 && Array.isArray(list.json) && list.json.length === ids.length && ids.length === 2,
  );
  return ids;
}

function idOf(record: unknown): string | undefined {
  const id = typeof record === 'object' && record !== null && 'id' in record ? record.id : undefined;
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}

async function testRefusals(site: Site): Promise<void> {
  const refused = async (name: string, body: unknown): Promise<void> =>
    site.check(`refuse: ${name}`, (await site.call('POST', site.base, body)).status === 400);
  for (const field of site.plan.fields) {
    for (const { value, breaks } of badValues(field))
      await refused(`${field.label} (${breaks})`, { ...sample(site.plan, 3), [field.name]: value });
    if (field.unique)
      await refused(`${field.label} (unique)`, { ...sample(site.plan, 3), [field.name]: goodValue(field, 1) });
  }
  await refused('a field nobody asked for', { ...sample(site.plan, 3), 'no such field': 1 });
  await refused('a list', []);
}

async function testFinding(site: Site): Promise<void> {
  const { plan, base } = site;
  const stored = sample(plan, 1);
  const find = async (
    name: string,
    query: Record<string, string>,
    fits: (records: unknown[]) => boolean,
  ): Promise<void> => {
    const { status, json } = await site.call('GET', `${base}?${new URLSearchParams(query).toString()}`);
    site.check(name, status === 200 && Array.isArray(json) && fits(json));
  };
  if (site.can('search')) {
    const text = plan.fields.find(({ type }) => type === 'text' || type === 'textarea' || type === 'email');
    const words = text === undefined ? '' : String(stored[text.name]);
    await find('search: finds it', { q: words }, (records) => records.length > 0);
    await find('search: finds nothing else', { q: 'no entry says this' }, (records) => records.length === 0);
  }
  for (const { kind, field: name, label } of plan.actions) {
    const field = plan.fields.find((one) => one.name === name);
    const sortBy = field?.name ?? 'createdAt';
    if (kind === 'sort')
      await find(`sort: ${label}`, { _sort: sortBy, _order: 'desc' }, (records) => records.length === 2);
    if (kind === 'filter' && field !== undefined) {
      const wanted = stored[field.name];
      const value = Array.isArray(wanted) ? String(wanted[0]) : String(wanted);
      await find(`filter: ${label}`, { [field.name]: value }, (records) =>
        records.some((record) => holds(record, { [field.name]: wanted })),
      );
    }
  }
  if (site.can('export')) {
    const csv = await site.call('GET', `${base}/export.csv`);
    site.check(
      'export: CSV',
      csv.status === 200 && plan.fields.every(({ label }) => csv.text.includes(label.replaceAll('"', '""'))),
    );
  }
}

async function testChanging(site: Site, id: string): Promise<void> {
  const { plan, base } = site;
  const path = `${base}/${id}`;
  if (site.can('edit')) {
    const body = sample(plan, 4);
    const changed = await site.call('PUT', path, body);
    site.check('edit: stores the change', changed.status === 200 && holds((await site.call('GET', path)).json, body));
  }
  for (const { kind, field: name, value, label } of plan.actions) {
    const field = plan.fields.find((one) => one.name === name);
    if (field === undefined || (kind !== 'toggle' && kind !== 'set')) continue;
    const target = stateOf(field, value);
    const changed = await site.call('PATCH', path, { [field.name]: target });
    site.check(`${kind}: ${label}`, changed.status === 200 && holds(changed.json, { [field.name]: target }));
  }
  if (site.can('vote')) {
    const voted = await site.call('POST', `${path}/votes`);
    site.check('vote: counts', voted.status === 200 && holds(voted.json, { votes: 1 }));
  }
}

function stateOf({ type }: SiteField, value: string | undefined): string | boolean {
  if (type === 'checkbox') return value !== 'false';
  return value ?? '';
}

async function testDeleting(site: Site, id: string): Promise<void> {
  const path = `${site.base}/${id}`;
  const deleted = await site.call('DELETE', path);
  if (!site.can('delete')) {
    site.check('delete: not offered', deleted.status === 405);
    return;
  }
  site.check('delete: removes it', deleted.status === 204 && (await site.call('GET', path)).status === 404);
}
