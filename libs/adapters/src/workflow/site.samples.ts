import type { SiteField } from './site.plan.js';

type Value = string | number | boolean | string[];

const BAD: Partial<Record<SiteField['type'], readonly Value[]>> = {
  email: ['not an address'],
  tel: ['call me'],
  url: ['javascript:alert(1)'],
  date: ['2024-02-30'],
  time: ['25:00'],
  'datetime-local': ['tomorrow'],
  number: ['many'],
  checkbox: ['perhaps'],
  color: ['blue'],
  select: ['\u0007 no such choice'],
  multiselect: [['\u0007 no such choice']],
};

const GOOD: Record<SiteField['type'], (field: SiteField, n: number) => Value> = {
  number: goodNumber,
  checkbox: ({ required }, n) => required || n % 2 === 1,
  select: pick,
  multiselect: (field, n) => [pick(field, n)],
  date: (_, n) => `2024-05-${two((n % 28) + 1)}`,
  time: (_, n) => `${two(n % 24)}:30`,
  'datetime-local': (_, n) => `2024-05-${two((n % 28) + 1)}T09:30`,
  color: () => '#336699',
  tel: ({ minLength = 0, maxLength = 200 }, n) => String(n).padStart(Math.min(Math.max(minLength, 8), maxLength), '5'),
  email: ({ minLength = 0 }, n) => `v${String(n)}@a.example`.padStart(minLength, 'x'),
  url: ({ minLength = 0 }, n) => `https://a.example/${String(n)}`.padEnd(minLength, 'x'),
  text: (field, n) => goodText(field, `<b>${String(n)}</b> “é” 值`, n),
  textarea: (field, n) => goodText(field, `<b>${String(n)}</b>\n“é” 值`, n),
};

/** A valid value; `n` keeps the values of unique fields apart. */
export function goodValue(field: SiteField, n: number): Value {
  return GOOD[field.type](field, n);
}

function goodNumber({ min, max, integer }: SiteField, n: number): number {
  const low = min ?? Math.min(0, max ?? 0);
  const value = integer ? Math.ceil(low) + n : low + n;
  return max !== undefined && value > max ? (integer ? Math.floor(max) : max) : value;
}

function pick({ options = [] }: SiteField, n: number): string {
  return options[n % options.length] ?? '';
}

function goodText({ minLength = 0, maxLength = 200 }: SiteField, text: string, n: number): string {
  return (text.length > maxLength ? String(n).slice(-maxLength) : text).padEnd(minLength, 'x');
}

function two(n: number): string {
  return String(n).padStart(2, '0');
}

/** Values the field must refuse, with what each breaks. */
export function badValues(field: SiteField): { value: Value | null; breaks: string }[] {
  const bad: { value: Value | null; breaks: string }[] = (BAD[field.type] ?? []).map((value) => ({
    value,
    breaks: 'type',
  }));
  const { type, min, max, minLength, maxLength } = field;
  if (field.required)
    bad.push({ value: type === 'checkbox' ? false : type === 'multiselect' ? [] : '', breaks: 'required' });
  if (min !== undefined) bad.push({ value: min - 1, breaks: 'min' });
  if (max !== undefined) bad.push({ value: max + 1, breaks: 'max' });
  if (field.integer) bad.push({ value: (min ?? 0) + 0.5, breaks: 'whole' });
  if (minLength !== undefined && minLength > 1) bad.push({ value: '5', breaks: 'minLength' });
  if (maxLength !== undefined) bad.push({ value: '5'.repeat(maxLength + 1), breaks: 'maxLength' });
  return bad;
}
