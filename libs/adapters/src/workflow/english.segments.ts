import { MARK } from './english.marks.js';
import { releaseHeld } from './english.prepare.js';
import type { Draft, DraftField } from './request.draft.js';

/** What stands between two separators, with the brackets behind it. */
export interface Segment {
  readonly text: string;
  readonly brackets: readonly string[];
  /** What stood before it: a mark, a comma, "and", or a full stop. */
  readonly opens: 'fields' | 'perhaps' | 'show' | 'clause' | 'sentence' | 'next';
  /** No comma stands between it and what is before. */
  readonly direct?: boolean;
  /** A sentence begins here. */
  readonly first?: boolean;
}
/** Where the reader is. */
export interface Reading {
  readonly draft: Draft;
  readonly held: readonly string[];
  /** What a bare noun phrase means right now. */
  mode: 'none' | 'fields' | 'perhaps' | 'show' | 'filter' | 'sort';
  /** The fields of the list that is open. */
  group: DraftField[];
  /** Noun phrases that wait for "… are required". */
  pending: string[];
}

const LEAD =
  /^(?:(?:please|hi|hello|hey|ok|so|also|then|now|just|and|but|finally|additionally|in addition|moreover|furthermore|as well as|plus|with|where|that|which|in which|so that|can you|could you|would you|will you|i(?:'d| would)? (?:want|need|like|love)(?: you)?(?: to have| to| a way to)?|we(?:'d| would)? (?:want|need|like)(?: to have| to)?|help me(?: to)?|i'm looking for|there (?:should|must) be|need(?= an?)|be able to|able to|to|the ability to|ability to|an? option to|option to|an? (?:way|button|link|chance|possibility|feature|function) (?:to|for)|ways to|the possibility (?:to|of)|the option (?:to|of)|possible to|the user|also)[, ]+)+/i;
const MAKE =
  /^(?:build|make|create|design|develop|generate|write|code|set up|implement|give|prepare|produce|put together)(?: me| us)?(?= (?:an?|the|my|our|some|one|simple|small)\b) /i;
export const SUBJECT_MODAL =
  /^(?:(?!(?:and|or)\b)[\w'/-]+ ){0,5}?(?:can(?:not|'t)?|could|should|must|may|will|would|needs? to|has to|have to|is able to|are able to|wants? to|is allowed to|are allowed to)(?: also| then| only| just| easily| always| each)?(?: be able to| be possible to| have the option to)? /i;
const PERMIT =
  /^(?:it |the \w+ |this )?(?:let|allow|enabl|permit|support|offer|provid|includ|featur)(?:s|e|es|ed|ing)?(?: for)?(?: (?:the |an? |all )?(?:me|us|them|you|users?|visitors?|people|everyone|anyone|customers?|guests?|members?|students?|staff|\w+s(?= to\b| (?:add|edit|delete|view|see|search|filter|sort|export|mark|enter|submit|leave|post|create|update|remove|vote|browse|track|record|manage)\b)))?(?: the)?(?: (?:to|ability to|option to))? (?=\w)/i;

export function segmentsOf(text: string): Segment[] {
  const pieces = text.split(
    /(\([^()]*\)|\[[^[\]]*\]|[\u{E001}-\u{E004}]|[,;]|\.(?=\s|$)|[!?]|\s(?:and|or|plus|as well as|together with|but|then)\s|:(?=\s))/u,
  );
  const segments: Segment[] = [];
  let opens: Segment['opens'] = 'sentence';
  let direct = false;
  let first = true;
  let current: { text: string; brackets: string[] } = { text: '', brackets: [] };
  const close = (next: Segment['opens']): void => {
    if (current.text.trim() !== '' || current.brackets.length > 0) {
      segments.push({ text: current.text.trim(), brackets: current.brackets, opens, direct, first });
      opens = next;
      direct = next !== 'next';
      first = false;
    } else if (next !== 'next') opens = next;
    first ||= next === 'sentence';
    current = { text: '', brackets: [] };
  };
  pieces.forEach((piece, index) => {
    if (index % 2 === 0) current.text += piece;
    else if (/^[([]/.test(piece)) current.brackets.push(piece.slice(1, -1));
    else close(opensBy(piece));
  });
  close('sentence');
  return segments;
}

function opensBy(piece: string): Segment['opens'] {
  if (piece === MARK.fields) return 'fields';
  if (piece === MARK.perhaps) return 'perhaps';
  if (piece === MARK.show) return 'show';
  if (piece === MARK.clause) return 'clause';
  return /[.!?]/.test(piece) ? 'sentence' : 'next';
}

/** The phrase without politeness and joining words; at the start of a clause also without "make me a" and "let users". */
export function strip(text: string, opening: boolean): string {
  let rest = text.replaceAll(/\s+/g, ' ').trim();
  for (let before = ''; before !== rest;) {
    before = rest;
    rest = rest.replace(LEAD, '');
    if (opening) rest = rest.replace(MAKE, '').replace(PERMIT, '');
  }
  return rest.trim();
}

/** The words as the request wrote them. */
export function tidy(text: string, held: readonly string[]): string {
  return releaseHeld(text, held).replaceAll(MARK.glue, ' ').replace(/\s+/g, ' ').trim();
}
