import { readBracket } from './english.bracket.js';
import { cleanLabel } from './english.label.js';
import { takeModifiers } from './english.modifiers.js';
import { type Reading, type Segment, tidy } from './english.segments.js';
import { guessField } from './field.guess.js';
import { addField, type Draft, type DraftField, findField } from './request.draft.js';

/** "email and phone are required", "age must be 18-60", "all fields are mandatory". */
export function constrain(text: string, segment: Segment, reading: Reading): boolean {
  const { draft } = reading;
  const all =
    /^(?:all|every|everything|each)\b(?: the)?(?: other)?(?: \w+)? (?:is|are|be|should be|must be) (required|mandatory|compulsory)/i.exec(
      text,
    );
  if (all !== null) {
    draft.allRequired = true;
    return true;
  }
  const per = /\b(?:only )?(?:one|1|a single|once)\b.{0,30}? (?:per|for each) ([\w -]+)$/i.exec(text)?.[1];
  const single =
    per ??
    /\b(?:no duplicates?|duplicates?|unique)\b(?: (?:of|for|in|values? (?:of|for)|entries (?:of|for)))?(?: the| an?)? (.+?)(?: (?:is|are|should|must|allowed|not)\b.*)?$/i.exec(
      text,
    )?.[1];
  const only = single === undefined ? undefined : fieldCalled(cleanLabel(single) ?? '', draft);
  if (only !== undefined) {
    only.unique = true;
    return true;
  }
  return constrainFields(text, segment, reading);
}

function constrainFields(text: string, segment: Segment, { draft, pending, held }: Reading): boolean {
  const said =
    /^(.+?) (?:(?:is|are)(?: always)?|(?:must|should|has to|have to|can|may|cannot|can't|needs? to)(?: only| not)? (?:be|have|contain)|defaults? to)\b(.*)$/i.exec(
      text,
    );
  if (said === null) {
    pending.push(text);
    return false;
  }
  const names = [...pending.splice(0), (said[1] ?? '').replace(/^(?:only|both|the|an?) /gi, '')];
  const known = constrained(names, text, draft);
  for (const field of known) {
    const rest = takeModifiers(` ${said[2] ?? ''} ${text.slice((said[1] ?? '').length)}`, field);
    segment.brackets.forEach((bracket) => readBracket(bracket, field));
    if (/\b(?:after|before|later|earlier|same as|match|equal|depend|default|future|past|today)\b/i.test(rest))
      draft.unsupported.push(tidy(text, held));
  }
  return known.length > 0;
}

/** The field of that name, or the only one whose label holds it: "phone" for "parent's phone number". */
function fieldCalled(label: string, { fields }: Draft): DraftField | undefined {
  const exact = findField(fields, label);
  if (exact !== undefined || label.length < 3) return exact;
  const near = fields.filter((field) => ` ${field.label.toLowerCase()} `.includes(` ${label.toLowerCase()} `));
  return near.length === 1 ? near[0] : undefined;
}

function isFigure({ label, type, options }: DraftField): boolean {
  return options === undefined && (type ?? guessField(label, 'en')?.type) === 'number';
}

/** The fields a statement is about; a usual one that nobody listed yet is added ("email must be unique"). */
function constrained(names: readonly string[], text: string, draft: Draft): DraftField[] {
  const known = names.map((name) => fieldCalled(cleanLabel(name) ?? '', draft)).filter((field) => field !== undefined);
  const subject = cleanLabel(names.at(-1) ?? '') ?? '';
  if (/^(?:all )?(?:values|numbers|readings|figures)$/i.test(subject)) return draft.fields.filter(isFigure);
  if (fieldCalled(subject, draft) !== undefined) return known;
  const rules = /\b(?:required|optional|mandatory|unique|valid|\d+)\b/.test(text);
  return rules && guessField(subject, 'en') !== undefined ? [...known, addField(draft, { label: subject })] : [];
}
