import { simplify } from './chinese.lexicon.js';
import { type FieldGuess, guessField } from './field.guess.js';
import { PLAN_WORDS, say, USUAL_FIELDS } from './plan.words.js';
import type { Draft, DraftField } from './request.draft.js';
import {
  clip,
  type FieldType,
  isChoice,
  type Language,
  MAX_FIELDS,
  MAX_LABEL,
  MAX_OPTIONS,
  RESERVED_NAMES,
  type SiteField,
} from './site.plan.js';

const TEXTS: ReadonlySet<FieldType> = new Set(['text', 'textarea', 'email', 'tel', 'url']);
/** Fields that are plain text and fields all the same. */
const PLAIN =
  /\b(?:name|title|subject|author|company|city|country|location|id|code|number)$|(?:姓名|名称|名字|昵称|标题|编号|作者)$/i;
const YES_NO = /^(?:yes|no|是|否|true|false)$/i;
const DAYS: ReadonlySet<FieldType | undefined> = new Set(['date', 'datetime-local']);
/** A moment of its own, unlike the "time" of a daily routine. */
const MOMENT =
  /^(?:start|end|begin|arrival|departure|check-?(?:in|out)|pick-?up|drop-?off|event|meeting|appointment|booking|delivery)\w* time$|^(?!营业|上班|下班|起床|睡觉|入睡|作息|上课|放学|吃饭).{1,8}时间$/i;
/** A box that must be ticked to go on; any other box may stay empty even when required. */
const CONSENT = /agree|terms|consent|accept|privacy|同意|条款|承诺/i;

/** The fields of a draft, or those usual for such a thing when it names none. */
export function chooseFields(draft: Draft, text: string, language: Language): DraftField[] {
  const known = (field: DraftField): boolean =>
    field.type !== undefined ||
    field.options !== undefined ||
    PLAIN.test(simplify(field.label)) ||
    guessField(field.label, language) !== undefined;
  const kept = draft.fields.filter((field) => !field.weak || known(field) || isPartOfList(field, draft));
  if (kept.length > MAX_FIELDS) draft.unsupported.push(say(PLAN_WORDS.tooMany, language, String(MAX_FIELDS)));
  if (kept.length > 0) return kept.slice(0, MAX_FIELDS);
  const usual = USUAL_FIELDS.find(({ when }) => when.test(simplify(text)));
  const labels = usual?.[language] ?? [];
  draft.notes.push(say(PLAN_WORDS.assumed, language, labels.join(language === 'zh' ? '、' : ', ')));
  return labels.map((label) => ({ label }));
}

/** "track amount, mood and place" lists fields though "amount" alone says so; "track expenses" does not. */
function isPartOfList(field: DraftField, { fields }: Draft): boolean {
  const weak = fields.filter((other) => other.weak);
  return weak.length > 1 && weak.includes(field) && fields.every((other) => other.weak);
}

/** Names, types and rules of the fields; what the request left open is decided by the label. */
export function planFields(drafts: readonly DraftField[], draft: Draft, language: Language): SiteField[] {
  const taken = new Set<string>(RESERVED_NAMES);
  const guesses = drafts.map((field) => guessField(field.label, language));
  const marked = drafts.some((field) => field.required === true) && !drafts.some((field) => field.required === false);
  const dated = drafts.some((field, index) => DAYS.has(field.type ?? guesses[index]?.type));
  return drafts.map((field, index) => {
    const guess = guesses[index];
    const type = momentOf(field, typeOf(field, guess?.type), dated);
    if (field.type === 'select' && type === 'text') draft.notes.push(say(PLAN_WORDS.noChoices, language, field.label));
    const usually = draft.allRequired === true || (!marked && guess?.optional !== true);
    return {
      name: nameOf(field.label, taken),
      label: field.label,
      type,
      required: type === 'checkbox' ? isConsent(field) : (field.required ?? usually),
      ...rulesOf(field, type, guess ?? { type }),
      ...(field.unique ? { unique: true } : {}),
    };
  });
}

function rulesOf(field: DraftField, type: FieldType, guess: FieldGuess): Partial<SiteField> {
  if (field.options !== undefined && isChoice({ type })) {
    return { options: field.options.slice(0, MAX_OPTIONS).map((option) => clip(option, MAX_LABEL)) };
  }
  if (type === 'number') return boundsOf(field, guess);
  return TEXTS.has(type) ? lengthsOf(field, type) : {};
}

/** Without a day beside it, "start time" alone would not say when. */
function momentOf(field: DraftField, type: FieldType, dated: boolean): FieldType {
  const alone = type === 'time' && field.type === undefined && !dated;
  return alone && MOMENT.test(simplify(field.label)) ? 'datetime-local' : type;
}

function isConsent({ label, required }: DraftField): boolean {
  return required === true && CONSENT.test(simplify(label));
}

function typeOf(field: DraftField, guessed: FieldType | undefined): FieldType {
  if (field.options === undefined) {
    const open = field.type === 'select' || field.type === undefined;
    return open ? lengthFits(field, guessed ?? 'text') : (field.type ?? 'text');
  }
  if (field.multiple === true) return 'multiselect';
  const yesNo = field.options.length === 2 && field.options.every((option) => YES_NO.test(option));
  return yesNo ? 'checkbox' : 'select';
}

/** "phone of 11 digits" bounds a text; "age" stays a number whatever its length. */
function lengthFits(field: DraftField, type: FieldType): FieldType {
  const lengths = field.minLength !== undefined || field.maxLength !== undefined;
  return lengths && !TEXTS.has(type) ? 'text' : type;
}

function boundsOf(field: DraftField, guess: FieldGuess): Pick<SiteField, 'min' | 'max' | 'integer'> {
  const said = field.min !== undefined || field.max !== undefined;
  const least = Number(guess.min) <= (field.max ?? Infinity) ? guess.min : undefined;
  const low = field.min ?? least;
  const high = field.max ?? (said ? undefined : guess.max);
  const rules = Number(low) > Number(high) ? { min: high, max: low } : { min: low, max: high };
  const whole = field.integer ?? guess.integer ?? isScale(field);
  return definedOf({ ...rules, integer: whole || undefined });
}

/** The object without what is undefined, so that a plan is plain JSON. */
function definedOf<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

/** "from 1 to 5" asks for whole numbers, "from 0.5 to 2" and "from 1 to 500" do not say. */
function isScale({ min, max }: DraftField): boolean {
  return Number.isInteger(min) && Number.isInteger(max) && Number(max) <= 10;
}

function lengthsOf(field: DraftField, type: FieldType): Pick<SiteField, 'minLength' | 'maxLength'> {
  const usual = type === 'textarea' ? 5000 : 200;
  const max = Math.min(Math.max(field.maxLength ?? usual, 1), 20_000);
  return { ...(field.minLength !== undefined ? { minLength: Math.min(field.minLength, max) } : {}), maxLength: max };
}

/** The key on the wire: the label's letters and digits. Whatever the label holds, it never becomes a path or code. */
export function nameOf(label: string, taken: Set<string>): string {
  const letters = label
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^[_\p{M}]+|_+$/gu, '');
  const base = clip(letters, 60) || 'field';
  let name = base;
  for (let n = 2; taken.has(name); n += 1) name = `${base}_${String(n)}`;
  taken.add(name);
  return name;
}
