import { simplify } from './chinese.lexicon.js';
import { ACTION_WORDS, PLAN_WORDS, say, SET_VERBS } from './plan.words.js';
import { type DraftAction, fieldKey } from './request.draft.js';
import { nameOf } from './field.planner.js';
import {
  type Language,
  MAX_FIELDS,
  MAX_OPTIONS,
  RESERVED_NAMES,
  type SiteAction,
  type SiteField,
} from './site.plan.js';

const SAME: readonly (readonly string[])[] = [
  ['done', 'complete', 'completed', 'finished', 'finish', 'off', 'checked'],
  ['完成', '勾选', '做完', '打勾'],
  ['批准', '通过'],
  ['favourite', 'favorite', 'starred'],
];

function keyOf(text: string): string {
  return fieldKey(simplify(text)).replace(/^(?:已|是否)+|(?:状态|了)$/g, '');
}

function same(a: string, b: string): boolean {
  const [one, two] = [keyOf(a), keyOf(b)];
  const near = two.length > 3 && one.startsWith(two.slice(0, -2));
  return one === two || near || SAME.some((group) => group.includes(one) && group.includes(two));
}

/** "mark as done", "标记为已付款": sets the choice that is named so, else a box, which is made when missing. */
export function markAction({ on = '' }: DraftAction, fields: SiteField[], language: Language): SiteAction[] {
  return statesIn(on).flatMap((state) => {
    const spoken = language === 'zh' ? `已${state.replace(/^已/, '')}` : state.toLowerCase();
    const label = say(ACTION_WORDS.toggle, language, spoken);
    const choice = setChoice(state, label, fields);
    if (choice !== undefined) return [choice];
    const box = boxFor(state, fields, language);
    return box === undefined ? [] : [{ kind: 'toggle', label, field: box.name }];
  });
}

/** "approve or reject" answer one question, "borrow and return" share a box. */
export function setAction({ on = '' }: DraftAction, fields: SiteField[], language: Language): SiteAction[] {
  const verb = SET_VERBS.find(({ when }) => when.test(on));
  if (verb === undefined) return [];
  const [state, label] = verb[language];
  if (verb.verdict && setChoice(state, label, fields) === undefined) offer(state, fields, language);
  const choice = verb.undoes ? undefined : setChoice(state, label, fields);
  if (choice !== undefined) return [choice];
  const box = boxFor(state, fields, language);
  return box === undefined ? [] : [{ kind: 'set', label, field: box.name, value: String(!verb.undoes) }];
}

function setChoice(state: string, label: string, fields: readonly SiteField[]): SiteAction | undefined {
  for (const field of fields) {
    const option = field.type === 'select' ? field.options?.find((one) => same(one, state)) : undefined;
    if (option !== undefined) return { kind: 'set', label, field: field.name, value: option };
  }
  return undefined;
}

/** Adds `state` to the choices of the status, which is made when missing. */
function offer(state: string, fields: SiteField[], language: Language): void {
  const label = PLAN_WORDS.verdict[language];
  const name = label.toLowerCase();
  const known = fields.find((field) => field.name === name);
  if (known === undefined && fields.length < MAX_FIELDS) {
    fields.push({ name, label, type: 'select', required: false, options: [PLAN_WORDS.undecided[language], state] });
  } else if (known?.type === 'select' && Number(known.options?.length) < MAX_OPTIONS) known.options?.push(state);
}

/** The box for a state, made when missing; none when the plan is full. */
function boxFor(state: string, fields: SiteField[], language: Language): SiteField | undefined {
  const known = fields.find((field) => field.type === 'checkbox' && same(field.label, state));
  if (known !== undefined || fields.length >= MAX_FIELDS) return known;
  const label = language === 'zh' ? `已${state.replace(/^已/, '')}` : state.charAt(0).toUpperCase() + state.slice(1);
  const taken = new Set([...RESERVED_NAMES, ...fields.map(({ name }) => name)]);
  const field: SiteField = {
    name: nameOf(label, taken),
    label,
    type: 'checkbox',
    required: false,
  };
  fields.push(field);
  return field;
}

function statesIn(on: string): string[] {
  const words = on
    .replace(/^(?:(?:being|is|an?|the|their|or|either|已|为)\s*)+|(?:的)?(?:状态|任务|事项|条目|了)$/g, '')
    .replace(/\b(?:tasks?|items?|entries|them|it|todos?|status|when .*|once .*|with .*)\b/g, '')
    .trim();
  const states = words
    .split(/\s*(?:\/|\bor\b|\band\b|或|和|、|,)\s*/)
    .filter((state) => /\p{L}/u.test(state) && state.split(' ').length <= 3)
    .map((state) => (state === 'off' ? 'done' : state));
  return states.length > 0 ? states : [/\p{Script=Han}/u.test(on) ? '完成' : 'done'];
}
