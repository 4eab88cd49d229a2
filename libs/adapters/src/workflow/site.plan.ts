import { z } from 'zod';

const FIELD_TYPES = [
  'text',
  'textarea',
  'email',
  'tel',
  'url',
  'date',
  'time',
  'datetime-local',
  'number',
  'select',
  'multiselect',
  'checkbox',
  'color',
] as const;

const ACTION_KINDS = [
  'create',
  'list',
  'edit',
  'delete',
  'clear',
  'search',
  'filter',
  'sort',
  'export',
  'toggle',
  'set',
  'vote',
  'count',
  'sum',
  'average',
  'print',
  'reset',
] as const;

export const MAX_FIELDS = 40;
export const MAX_OPTIONS = 50;
/** Longest label, in UTF-16 units. */
export const MAX_LABEL = 80;
const label = z.string().trim().min(1).max(MAX_LABEL);

/** One thing a visitor fills in. `name` is the key on the wire, `label` what the page shows. */
const fieldSchema = z.strictObject({
  name: z.string().regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N}_]{0,79}$/u),
  label,
  type: z.enum(FIELD_TYPES),
  required: z.boolean(),
  options: z.array(label).min(1).max(MAX_OPTIONS).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  integer: z.boolean().optional(),
  minLength: z.number().int().min(0).max(20_000).optional(),
  maxLength: z.number().int().min(1).max(20_000).optional(),
  unique: z.boolean().optional(),
});

/** One thing a visitor can do. `field` names the field it works on, `value` what it sets or which format it writes. */
const actionSchema = z.strictObject({
  kind: z.enum(ACTION_KINDS),
  label,
  field: z.string().optional(),
  value: z.string().max(80).optional(),
  descending: z.boolean().optional(),
});

const planShape = z.strictObject({
  language: z.enum(['en', 'zh']),
  title: label,
  collection: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  fields: z.array(fieldSchema).min(1).max(MAX_FIELDS),
  actions: z.array(actionSchema).min(1).max(60),
  /** What the request asks for and this builder does not do, in the request's own words. */
  unsupported: z.array(z.string().trim().min(1).max(300)).max(40),
  /** What the reader should know about how the request was understood. */
  notes: z.array(z.string().trim().min(1).max(300)).max(40),
});

const planSchema = planShape.superRefine((plan, context) => {
  for (const message of [...fieldProblems(plan.fields), ...actionProblems(plan)])
    context.addIssue({ code: 'custom', message });
});

export type FieldType = (typeof FIELD_TYPES)[number];
export type ActionKind = (typeof ACTION_KINDS)[number];
export type SiteField = z.infer<typeof fieldSchema>;
export type SiteAction = z.infer<typeof actionSchema>;
export type SitePlan = z.infer<typeof planShape>;
export type Language = SitePlan['language'];

/** Keys the back end sets itself, or reads from the query. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt', 'votes', 'q']);
/** What the back end keeps of an entry by itself; sorting by it needs no field. */
export const CREATED = 'createdAt';
export const VOTES = 'votes';
const NEEDS_FIELD: ReadonlySet<ActionKind> = new Set(['filter', 'sort', 'toggle', 'set', 'sum', 'average']);

/** The start of `text`, at most `max` UTF-16 units, never half a character. */
export function clip(text: string, max: number): string {
  return text
    .slice(0, max)
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
}

export function isChoice(field: Pick<SiteField, 'type'>): boolean {
  return field.type === 'select' || field.type === 'multiselect';
}

/** The plan in `value`, or what is wrong with it. */
export function parsePlan(value: unknown): { plan: SitePlan } | { problem: string } {
  const parsed = planSchema.safeParse(value);
  return parsed.success ? { plan: parsed.data } : { problem: z.prettifyError(parsed.error) };
}

/** The JSON Schema of a plan, for a model to follow. */
export function planJsonSchema(): unknown {
  return z.toJSONSchema(planSchema, { io: 'input' });
}

function fieldProblems(fields: readonly SiteField[]): string[] {
  const names = new Set(fields.map((field) => field.name));
  const problems = names.size < fields.length ? ['two fields have the same name'] : [];
  for (const field of fields) {
    const { name, min, max } = field;
    if (RESERVED_NAMES.has(name)) problems.push(`"${name}" is a reserved name`);
    if (isChoice(field) !== (field.options !== undefined)) problems.push(`"${name}": options and type disagree`);
    if (min !== undefined && max !== undefined && min > max) problems.push(`"${name}": min > max`);
  }
  return problems;
}

function actionProblems({ fields, actions }: Pick<SitePlan, 'fields' | 'actions'>): string[] {
  const names = new Set(fields.map((field) => field.name));
  return actions.flatMap(({ kind, field, value }) => {
    if (field !== undefined && !names.has(field)) return [`action "${kind}" names an unknown field`];
    const needs = NEEDS_FIELD.has(kind) && value !== CREATED && value !== VOTES;
    return field === undefined && needs ? [`action "${kind}" needs a field`] : [];
  });
}
