import { simplify } from './chinese.lexicon.js';
import { ACTION_WORDS, PLAN_WORDS, say, verbLabel } from './plan.words.js';
import { type Draft, type DraftAction, fieldKey } from './request.draft.js';
import { type ActionKind, CREATED, type Language, type SiteAction, type SiteField, VOTES } from './site.plan.js';
import { markAction, setAction } from './state.planner.js';

/** What a total without a name is most likely of, and never of. */
const MONEY = /amount|price|cost|paid|total|金额|价|费|支出|收入|[钱元]/i;
const UNSUMMED = /\byear\b|\bage\b|年份|年龄/i;

interface Context {
  readonly draft: Draft;
  readonly fields: SiteField[];
  readonly language: Language;
}

const COMPARABLE: ReadonlySet<SiteField['type']> = new Set(['number', 'date', 'time', 'datetime-local']);

/** Resolves what each action works on; adding and listing are always there. May add a field that an action needs ("mark as paid"). */
export function planActions(
  draft: Draft,
  fields: SiteField[],
  { language, keeping }: { language: Language; keeping: boolean },
): SiteAction[] {
  const context: Context = { draft, fields, language };
  // Of several ways to add an entry, one with a verb of its own names the button.
  const named = draft.actions.some(isNamedCreate);
  const wanted = draft.actions.filter((action) => action.kind !== 'create' || !named || isNamedCreate(action));
  const has = (kind: ActionKind): boolean => wanted.some((action) => action.kind === kind);
  if (!has('create')) wanted.unshift({ kind: 'create' });
  if (!has('list')) wanted.push({ kind: 'list' });
  const allowed = (kind: ActionKind): boolean => keeping && !has(kind) && !draft.denied.includes(kind);
  if (allowed('edit')) wanted.push({ kind: 'edit' });
  if (allowed('delete')) wanted.push({ kind: 'delete' });
  const seen = new Set<string>();
  return wanted
    .flatMap((action) => resolve(action, context))
    .filter(({ kind, field, value }) => {
      const key = [kind, field, value].join(' ');
      const repeated = seen.has(key);
      seen.add(key);
      return !repeated;
    })
    .slice(0, 60);
}

function isNamedCreate({ kind, label = '' }: DraftAction): boolean {
  return kind === 'create' && label !== '';
}

type Resolve = (action: DraftAction, context: Context) => SiteAction[];

/** How the actions that work on something find it; the others need no more than a label. */
const RESOLVERS: Partial<Record<ActionKind, Resolve>> = {
  filter: (action, context) => byField(action, context),
  sort: (action, context) => byField(action, context),
  sum: (action, context) => overNumbers(action, context),
  average: (action, context) => overNumbers(action, context),
  toggle: (action, context) => orUnsupported(markAction(action, context.fields, context.language), action, context),
  set: (action, context) => orUnsupported(setAction(action, context.fields, context.language), action, context),
  export: ({ value = 'csv', label }, { draft, language }) => {
    if (label === 'excel') draft.notes.push(say(PLAN_WORDS.excel, language));
    return [{ kind: 'export', label: say(ACTION_WORDS.export, language, value.toUpperCase()), value }];
  },
};

/** What came of an action, or a word in the plan that nothing did. */
function orUnsupported(found: SiteAction[], { on = '' }: DraftAction, { draft, language }: Context): SiteAction[] {
  if (found.length === 0 && on.trim() !== '') draft.unsupported.push(say(PLAN_WORDS.noTarget, language, on.trim()));
  return found;
}

function resolve(action: DraftAction, context: Context): SiteAction[] {
  const resolver = RESOLVERS[action.kind];
  if (resolver !== undefined) return resolver(action, context);
  const spoken = action.label === undefined ? undefined : verbLabel(action.label, context.language);
  return [{ kind: action.kind, label: spoken ?? say(ACTION_WORDS[action.kind], context.language) }];
}

/** Every field whose label stands in `words`, longest first, so that "start date" is not "date". */
function fieldsIn(words: string, { fields }: Context): SiteField[] {
  let text = ` ${simplify(words).toLowerCase()} `;
  const found: SiteField[] = [];
  for (const field of [...fields].sort((a, b) => b.label.length - a.label.length)) {
    const label = simplify(field.label).toLowerCase();
    if (label !== '' && text.includes(label)) {
      text = text.replace(label, ' ');
      found.push(field);
    } else if (field.options?.some((option) => text.trim() === option.toLowerCase())) found.push(field);
  }
  return found.length > 0 ? found : nearest(words, fields);
}

/** "filter by date" where the field is "due date", "sort by prices" where it is "price". */
function nearest(words: string, fields: readonly SiteField[]): SiteField[] {
  const key = fieldKey(simplify(words).replace(/^(?:the|a|an|by|their)\s+/i, ''));
  const head = fieldKey(words.trim().split(/\s+/).at(-1) ?? '');
  if (key.length < 2) return [];
  const near = fields.filter((field) => {
    const own = fieldKey(simplify(field.label));
    const last = fieldKey(field.label.split(/\s+/).at(-1) ?? '');
    const dated = /日期|时间|date/.test(key) && /^(?:date|datetime-local)$/.test(field.type);
    return own.endsWith(key) || own.startsWith(key) || key.includes(own) || last === head || dated;
  });
  return near.length > 0 ? near : fields.filter((field) => shareWord(words, field.label));
}

/** "responsible person" and "who is responsible". */
function shareWord(a: string, b: string): boolean {
  const words = new Set(a.toLowerCase().match(/[a-z]{5,}/g) ?? []);
  return (b.toLowerCase().match(/[a-z]{5,}/g) ?? []).some((word) => words.has(word));
}

function byField(action: DraftAction, context: Context): SiteAction[] {
  const { language, draft, fields } = context;
  const kind = action.kind === 'filter' ? 'filter' : 'sort';
  const on = action.on ?? '';
  const descending =
    action.descending ?? /\b(?:newest|latest|recent|highest|descending|largest)\b|倒序|降序|从(?:新|高|大)/.test(on);
  const make = (field: SiteField): SiteAction => ({
    kind,
    label: say(ACTION_WORDS[kind], language, language === 'zh' ? field.label : field.label.toLowerCase()),
    field: field.name,
    ...(descending ? { descending } : {}),
  });
  const found = fieldsIn(on, context);
  if (found.length > 0) return found.map(make);
  const own = kind === 'sort' ? ownColumn(on) : undefined;
  if (own !== undefined) {
    const label = say(
      ACTION_WORDS.sort,
      language,
      say(own === VOTES ? PLAN_WORDS.votes : PLAN_WORDS.created, language),
    );
    return [{ kind, label, value: own, ...(descending || own === VOTES ? { descending: true } : {}) }];
  }
  const fallback = fallbackFor(kind, on, fields);
  if (fallback.length > 0) return fallback.map(make);
  draft.unsupported.push(say(PLAN_WORDS.noTarget, language, `${say(ACTION_WORDS[kind], language, on)}`.trim()));
  return [];
}

/** What the back end itself keeps of an entry and can sort by. */
function ownColumn(on: string): typeof CREATED | typeof VOTES | undefined {
  if (/\b(?:votes?|likes?|popular\w*|upvotes?)\b|票数|点赞|热度|得票/.test(on)) return VOTES;
  return /\b(?:created|date|time|newest|latest|added|recent)\b|时间|最新|日期|先后|倒序|降序/.test(on)
    ? CREATED
    : undefined;
}

function fallbackFor(kind: 'filter' | 'sort', on: string, fields: readonly SiteField[]): SiteField[] {
  if (kind === 'sort' && on === 'number') return fields.filter((field) => field.type === 'number').slice(0, 1);
  if (kind === 'sort' && on === 'alphabet') return fields.slice(0, 1);
  const done = /\b(?:done|completed?|finished|open|pending|unfinished|active|undone|incomplete)\b|完成/.test(on);
  if (kind === 'filter' && done) return fields.filter((field) => field.type === 'checkbox').slice(0, 1);
  if (on.trim() !== '') return [];
  return kind === 'filter'
    ? fields.filter((field) => field.type === 'select' || field.type === 'checkbox')
    : fields.filter((field) => COMPARABLE.has(field.type)).concat(fields.slice(0, 1));
}

function overNumbers(action: DraftAction, context: Context): SiteAction[] {
  const { language, fields } = context;
  const kind = action.kind === 'sum' ? 'sum' : 'average';
  // What is to be added up is a number, whatever its name let us think.
  for (const field of fieldsIn(action.on ?? '', context)) if (field.type === 'text') asNumber(field);
  const numbers = fields.filter((field) => field.type === 'number' && !UNSUMMED.test(field.label));
  const named = fieldsIn(action.on ?? '', context).filter((field) => field.type === 'number');
  const all = kind === 'average' && (action.on ?? '') === '';
  const likely = [...numbers].sort((a, b) => Number(MONEY.test(b.label)) - Number(MONEY.test(a.label)));
  const targets = named.length > 0 ? named : likely.slice(0, all ? numbers.length : 1);
  if (targets.length === 0) return [{ kind: 'count', label: say(ACTION_WORDS.count, language) }];
  return targets.map((field) => ({
    kind,
    label: say(ACTION_WORDS[kind], language, language === 'zh' ? field.label : field.label.toLowerCase()),
    field: field.name,
  }));
}

function asNumber(field: SiteField): void {
  field.type = 'number';
  delete field.minLength;
  delete field.maxLength;
}
