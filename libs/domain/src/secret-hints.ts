/** No secret has a shorter unbroken part. */
const RUN = 16;

const IN_RUN = new Uint8Array(128);
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+/.=:@%?&~-') {
  IN_RUN[char.charCodeAt(0)] = 1;
}

/** How many characters before a run may say that it is a secret. */
export const SECRET_LEAD = 24;
const PEM = '-----BEGIN';

/** Ids of ours, which are in most texts that are looked at. */
const OWN_ID = /^(?:msg|evt|art|wait)_[0-9a-f]{32}$/;
/** Beginnings of the forms in redaction.ts. */
const ANCHOR =
  /swy_|whsec_|eyJ|A(?:KIA|SIA|Iza|ccountKey=)|g(?:h[opsru]_|ithub_pat_|lpat-)|xox[abeprs]-|sk-|[prs]k_(?:live|test)_|shpat_|ya29\.|npm_|hf_|SG\.|hooks\.|:\/\/[^/@]{1,256}@|[?&](?:sig|X-Amz-|X-Goog-|access_token|api_?key|token)|(?:[kK]ey|KEY|oken|OKEN|ecret|ECRET|assword|ASSWORD)[=:]/;
const BEFORE = /(?:bearer|basic|key|token|secret|password)\\{0,2}["']?\s{0,3}[:=]?\s{0,3}\\{0,2}["']?$/i;

/**
 * False when a text holds nothing like a secret; true when it is worth a closer look. This runs over every event that is
 * stored: it steps over the text in strides of the shortest run and looks closer only at runs that long.
 */
export function mayHoldSecret(text: string): boolean {
  // Each stride begins right behind a break, so that a run is met at its beginning.
  for (let start = 0; start + RUN <= text.length;) {
    let at = start + RUN - 1;
    while (at >= start && isInRun(text.charCodeAt(at))) at--;
    if (at < start) {
      at = endOfRun(text, start + RUN);
      if (isSuspicious(text, start, at)) return true;
    }
    start = at + 1;
  }
  return false;
}

function endOfRun(text: string, from: number): number {
  let at = from;
  while (at < text.length && isInRun(text.charCodeAt(at))) at++;
  return at;
}

function isInRun(code: number): boolean {
  return code < 128 && IN_RUN[code] === 1;
}

function isSuspicious(text: string, start: number, stop: number): boolean {
  const run = text.slice(start, stop);
  if (stop - start === 36 && OWN_ID.test(run)) return false;
  return ANCHOR.test(run) || BEFORE.test(text.slice(Math.max(0, start - SECRET_LEAD), start)) || text.includes(PEM);
}

/**
 * Where a secret may begin that is not at its end when the text is: what follows could be its rest. Its length when there
 * is none. What comes behind the place is to be kept back until more is known.
 */
export function openSecretAt(text: string): number {
  const block = text.lastIndexOf(PEM);
  if (block >= 0 && !text.includes('-----END', block)) return block;
  let start = text.length;
  while (start > 0 && isInRun(text.charCodeAt(start - 1))) start--;
  if (start === text.length) return text.length;
  const run = text.slice(start);
  if (text.length - start === 36 && OWN_ID.test(run)) return text.length;
  const isOpen = ANCHOR.test(run) || BEFORE.test(text.slice(Math.max(0, start - SECRET_LEAD), start));
  return isOpen ? start : text.length;
}
