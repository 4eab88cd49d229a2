import { readAction } from './english.actions.js';
import { constrain } from './english.constraints.js';
import { isDemand, readList, takeField } from './english.fields.js';
import { ENGLISH_IGNORED, ENGLISH_UNSUPPORTED } from './english.lexicon.js';
import { cleanLabel } from './english.label.js';
import { HELD_PATTERN, prepareEnglish } from './english.prepare.js';
import { type Reading, type Segment, segmentsOf, strip, SUBJECT_MODAL, tidy } from './english.segments.js';
import { readTitle } from './english.title.js';
import { guessField } from './field.guess.js';
import { type Draft, findField } from './request.draft.js';

const DENIES =
  /\b(?:can't|cannot|can not|must not|may not|should not|shouldn't|mustn't|not be able|never|nobody|no one)\b/i;
/** Who does it: "teachers add records". */
const ACTOR =
  /^(?:(?:the |our |my |other |all )?(?:\w+s|people|staff|everyone|anyone|others|he|she|they|we|i|you|an? \w+|the \w+) )(?:also |then )?(?=\w+)/i;

interface Said {
  /** The segment without what only joins or asks politely. */
  readonly text: string;
  readonly segment: Segment;
}

/** Reads an English request. */
export function readEnglish(request: string): Draft {
  const draft: Draft = { title: readTitle(request), fields: [], actions: [], denied: [], unsupported: [], notes: [] };
  const { text, held } = prepareEnglish(request);
  const reading: Reading = { draft, held, mode: 'none', group: [], pending: [] };
  const segments = segmentsOf(text);
  segments.forEach((segment, at) => readSegment(asList(segment, segments.slice(at + 1), draft), reading));
  return draft;
}

/** "drivers list departure city, destination, date": a showing verb before three things or more, and no fields yet, lists them. */
function asList(segment: Segment, after: readonly Segment[], { fields }: Draft): Segment {
  const others = after.findIndex(({ opens }) => opens !== 'next');
  const listed = others === -1 ? after.length : others;
  const lists = segment.opens === 'show' && listed > 1 && fields.length === 0;
  return lists ? { ...segment, opens: 'perhaps' } : segment;
}

function readSegment(segment: Segment, reading: Reading): void {
  openList(segment, reading);
  if (segment.first === true) reading.pending = [];
  const opening = segment.opens === 'sentence' || segment.opens === 'clause';
  const listing = !opening && isListing(reading);
  const text = listing
    ? segment.text.replace(/^(?:also|then|plus|optionally)\s+(?=(?:an?|the|their)\b)/i, '')
    : strip(segment.text, opening);
  if (constrain(text, segment, reading)) return;
  const going = segment.opens === 'next' && reading.mode !== 'none';
  const phrase = going ? text : text.replace(SUBJECT_MODAL, '').replace(/^be /i, '');
  const said: Said = { text: listing ? phrase.trim() : strip(phrase, false), segment };
  READERS.some((read) => read(said, reading));
}

function openList(segment: Segment, reading: Reading): void {
  const { opens } = segment;
  if (opens === 'next') return;
  const list = opens === 'fields' || opens === 'perhaps' || opens === 'show';
  if (list && segment.direct === true) nameThing(reading);
  reading.mode = list ? opens : 'none';
  reading.group = [];
}

function isListing({ mode }: Reading): boolean {
  return mode === 'fields' || mode === 'perhaps';
}

/** "track books with title, author": what looked like the first list named the thing, the second has its fields. */
function nameThing({ draft, mode, group }: Reading): void {
  const [only] = group;
  if (only === undefined || group.length > 1 || draft.fields.at(-1) !== only) return;
  if (mode === 'fields' && guessField(only.label, 'en') !== undefined) return;
  draft.fields.pop();
  if (!/^(?:new )?(?:ones?|entries|entry|items?|records?|data|details)$/i.test(only.label)) draft.noun ??= only.label;
}

function readUnsupported({ text, segment }: Said, { draft, held }: Reading): boolean {
  const lower = text.toLowerCase();
  const found = text.search(HELD_PATTERN) >= 0 || ENGLISH_UNSUPPORTED.some((pattern) => pattern.test(lower));
  if (found) draft.unsupported.push(tidy(segment.text, held));
  return found;
}

function readActions({ text, segment }: Said, reading: Reading): boolean {
  const { draft } = reading;
  const listing = isListing(reading);
  const actions = readAction(text, listing) ?? (listing ? undefined : readAction(text.replace(ACTOR, ''), false));
  if (actions === undefined) return false;
  if (DENIES.test(segment.text)) {
    draft.denied.push(...actions.map(({ kind }) => kind));
    return true;
  }
  draft.actions.push(...actions);
  const last = actions.at(-1)?.kind;
  reading.mode = last === 'filter' || last === 'sort' ? last : 'none';
  if (last === 'create' && segment.brackets.length > 0) readList(segment.brackets, reading);
  return true;
}

/** "filter by city and price": what follows is filtered by, too. */
function readTargets({ text }: Said, { draft, mode }: Reading): boolean {
  if (mode !== 'filter' && mode !== 'sort') return false;
  draft.actions.push({ kind: mode, on: text.toLowerCase() });
  return true;
}

function readIgnored({ text, segment }: Said, reading: Reading): boolean {
  const lower = text.toLowerCase();
  if (lower !== '' && !ENGLISH_IGNORED.some((pattern) => pattern.test(lower))) return false;
  const lists = isListing(reading) || reading.draft.fields.length === 0;
  if (lists && segment.brackets.length > 0) readList(segment.brackets, reading);
  return true;
}

function readField({ text, segment }: Said, reading: Reading): boolean {
  if (!isListing(reading)) return false;
  takeField(text, segment, reading);
  return true;
}

/** The thing itself, at the start; anywhere else a demand nothing above understood. */
function readRest({ text, segment }: Said, reading: Reading): boolean {
  const { draft, held } = reading;
  const lower = text.toLowerCase();
  if (findField(draft.fields, text) !== undefined) return true;
  if (segment.opens === 'sentence' && draft.fields.length === 0) {
    if (segment.brackets.length > 0) readList(segment.brackets, reading);
  } else if (isDemand(lower) || (segment.opens === 'next' && /^[a-z]{3,} [a-z]+s$/.test(lower))) {
    draft.unsupported.push(tidy(text, held));
  }
  return true;
}

/** "shows the total amount", "see all entries", "displays name and price": an action, or fields already known. */
function readShown({ text, segment }: Said, reading: Reading): boolean {
  const { draft, mode } = reading;
  if (mode !== 'show') return false;
  const label = cleanLabel(text) ?? '';
  if (findField(draft.fields, label) !== undefined) {
    draft.actions.push({ kind: 'list' });
    return true;
  }
  const actions = readAction(text, false) ?? readAction(`show ${text}`, false) ?? [];
  const telling = actions.filter(({ kind }) => kind !== 'list' && kind !== 'create');
  if (telling.length > 0) draft.actions.push(...telling);
  else if (draft.fields.every((field) => field.weak) && guessField(label, 'en') !== undefined)
    takeField(text, segment, reading);
  else draft.actions.push({ kind: 'list' });
  return true;
}

/** Each takes the phrase or leaves it to the next. */
const READERS: readonly ((said: Said, reading: Reading) => boolean)[] = [
  readUnsupported,
  readShown,
  readActions,
  readTargets,
  readIgnored,
  readField,
  readRest,
];
