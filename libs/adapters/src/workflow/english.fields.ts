import { readBracket } from './english.bracket.js';
import { cleanLabel } from './english.label.js';
import { takeModifiers } from './english.modifiers.js';
import { bracketChoices } from './english.prepare.js';
import { type Reading, type Segment, segmentsOf, tidy } from './english.segments.js';
import { guessField } from './field.guess.js';
import { addField, type DraftField } from './request.draft.js';

const BOX = /\b(check ?box|tick ?box|drop ?down|text ?area|multi[- ]select|radio buttons?|flag|toggle|switch)\b/i;
const BOX_WORDS =
  /\b(?:check ?box|tick ?box|drop ?down(?: list| menu)?|text ?area|radio buttons?|multi[- ]select|flag|toggle|switch)\b(?: (?:for|to|of|with|indicating|saying|called|labell?ed|if|whether))?/gi;

/** A bracket behind the thing itself lists its fields: "recipes (name, ingredients, steps)". */
export function readList(brackets: readonly string[], reading: Reading): void {
  for (const bracket of brackets) {
    for (const part of segmentsOf(bracketChoices(bracket.replace(/[|]/g, ',')))) takeField(part.text, part, reading);
  }
}

/** Takes a noun phrase in an open list as a field. */
export function takeField(text: string, segment: Segment, reading: Reading): void {
  const { draft, mode, group } = reading;
  const field: DraftField = { label: '', weak: mode === 'perhaps' };
  const box = BOX.exec(text)?.[1]?.toLowerCase();
  const rest = takeModifiers(text, field);
  const bare = rest.replace(BOX_WORDS, ' ').trim();
  const label = cleanLabel(bare);
  if (label === undefined) {
    // "…, up to 300 characters": said of the field before.
    const last = group.at(-1);
    if (last !== undefined) Object.assign(last, { ...field, label: last.label, weak: last.weak });
    return;
  }
  if (isDemand(label.toLowerCase()) && /^[a-z]+ (?:an?|the|their|my|it|them|each|every|all)\b/i.test(bare)) {
    draft.unsupported.push(tidy(text, reading.held));
    reading.mode = 'none';
    return;
  }
  if (group.length === 0 && segment.brackets.some(listsFields)) {
    draft.noun ??= label;
    readList(segment.brackets, reading);
    return;
  }
  field.label = singular(label);
  if (box !== undefined) boxed(box, field);
  segment.brackets.forEach((bracket) => readBracket(bracket, field));
  group.push(addField(draft, field));
}

/** "posts (title, author, content)" lists fields where "size (S, M, L)" lists choices. */
function listsFields(bracket: string): boolean {
  const items = segmentsOf(bracket.replace(/[|]/g, ','));
  const fieldLike = items.filter(
    ({ text }) =>
      guessField(text, 'en') !== undefined ||
      /\b(?:title|name|author|subject|company|city|country|genre|brand|model|id|code|number)$/i.test(text),
  );
  return items.length > 1 && fieldLike.length * 2 >= items.length;
}

function boxed(box: string, field: DraftField): void {
  if (/^(?:check|tick|flag|toggle|switch)/.test(box)) field.type = 'checkbox';
  else if (/^text/.test(box)) field.type = 'textarea';
  else if (/^multi/.test(box)) field.multiple = true;
  else field.type ??= 'select';
}

/** "names and emails" ask for one of each per record; other plurals ("ingredients") keep theirs. */
function singular(label: string): string {
  const one = label.replace(/(?<![sui])s$/i, '');
  if (
    one === label ||
    !/\b(?:name|email|phone|date|time|title|age|price|address|number|rating|category|quantity|author|amount|score)$/i.test(
      one,
    )
  )
    return label;
  return /^(?:notes|comments|details)$/i.test(label) || guessField(label, 'en')?.type === 'textarea' ? label : one;
}

/** A verb and what it acts on, as far as words alone tell. */
export function isDemand(text: string): boolean {
  return (
    /^(?:\w+ly )?(?!(?:the|an?|my|our|your|for|in|on|at|by|of|from|about|per|as|like|it|is|are|no|where|when|who|whom|how|what|why|which|whose)\b)[a-z]+(?:e|s|ing|ed)?\b(?: .+)/.test(
      text,
    ) && text.split(' ').length > 2
  );
}
