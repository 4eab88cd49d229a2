import { strip, SUBJECT_MODAL } from './english.segments.js';

const GENERIC =
  /^(?:(?:web ?)?(?:page|site|website|app|application|tool|form|system|web app|one|thing|program|service|database|interface)s?)$/i;

/** What the page is called: the thing the first sentence asks for. */
export function readTitle(request: string): string {
  const sentence = request.trim().split(/(?<=[a-z)])[.!?](?:\s|$)|\n/i)[0] ?? '';
  const wanted =
    /^(?:i|we|my|our)\b.*?\b(?:need|want|like|build|make|create|for)s? (?:to have )?(?:an?|the) (?=\w)/i.exec(
      sentence,
    )?.[0] ?? '';
  const first = strip(sentence.slice(wanted.length), true).replace(
    /^(?:build|make|create|design|develop|generate|write|code|set up|implement|give|prepare|produce)(?: me| us)? /i,
    '',
  );
  const head =
    first.split(
      /\s*(?:[,:;(]|\s[-–—]\s|\b(?:with|where|which|that|having|containing|including|in which|using|asking|that|so that|so|by|whose|captur\w+|and (?:let|allow|people|users|visitors)|fields?\b)\b)/i,
    )[0] ?? '';
  const bare = head
    .replace(
      /^(?:(?:an?|the|my|our|some|one|simple|small|basic|tiny|little|nice|modern|clean|single|web-based|online|page|to|me)\s+)+/i,
      '',
    )
    .trim();
  const purpose =
    /^(?:web ?)?(?:\w+ )?(?:page|site|website|app|application|tool|form|system|table|program)?s? ?(?:for|to) (?:(?:record|track|manag|collect|stor|keep|keeping|log|organi[sz]|list|sav|submit|add|enter|tak|creat|gather|register|captur)(?:e|ing|s)?(?: track of| down)? )?(?:(?:my|our|the|an?|their|people's|users') )?(.+)$/i.exec(
      bare,
    )?.[1];
  const chosen = (
    purpose ??
    bare.replace(
      /^(?:track|manage|record|log|store|collect|organi[sz]e|keep track of|keep) (?:(?:my|our|the|an?|all) )?/i,
      '',
    )
  ).trim();
  const words = chosen.split(/\s+/).slice(0, 6).join(' ');
  if (words === '' || GENERIC.test(words)) return titleOfPurpose(first);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** "a page where customers can book a table: …" is called "Book a table". */
function titleOfPurpose(first: string): string {
  const purpose = /\b(?:where|that|which|to|for|so)\b\s+([^,:;(]+)/i.exec(first.split(/[:,;(]/)[0] ?? '')?.[1] ?? '';
  const words =
    purpose
      .replace(SUBJECT_MODAL, '')
      .split(/\s+(?:with|by|and|where|including)\s+/)[0]
      ?.trim()
      .split(/\s+/) ?? [];
  const title = words.slice(0, 5).join(' ');
  if (/^(?:asks?|collects?|lets?|takes?|has|shows?)\b/i.test(title)) return '';
  return title.charAt(0).toUpperCase() + title.slice(1);
}
