import { pointerTo } from '#lib/domain';
import { JsonDocument, unescapeKey } from './json-document.js';
import type { MemberOffsets } from './json-document.js';

/** Deepest nesting of arrays and objects that is read; the outermost value is level 1. */
export const MAX_JSON_DEPTH = 64;

/** Objects with at most this many keys are checked for repeats by comparing spans, larger ones with a set. */
const FEW_KEYS = 8;

/** Longest JSON Pointer that is reported: a key may be as long as the body. */
const MAX_POINTER = 500;

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const PROTO = '__proto__';
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORDS = ['true', 'false', 'null'];

/** A literal without exponent is faithful when it has at most so many characters before the point and in all. */
const SURE_DIGITS = 15;
const SURE_LENGTH = 300;

export type JsonFaultCode = 'invalid_json' | 'duplicate_key' | 'forbidden_key' | 'too_deep' | 'number_not_exact';

/** Why a text was not read. `path` is the JSON Pointer of the value at fault; for `invalid_json` it is empty and `position` counts. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';

  constructor(
    readonly code: JsonFaultCode,
    message: string,
    readonly path: string,
    readonly position: number,
  ) {
    super(message);
  }
}

/**
 * Reads JSON that `JSON.parse` would silently alter as an error instead: repeated keys, `__proto__` keys, numbers whose
 * value a double does not hold (see `isFaithful`), and nesting deeper than `MAX_JSON_DEPTH`. All other texts give exactly
 * what `JSON.parse` gives. Time is linear in the length of the text.
 *
 * @throws JsonFault with the first fault in the text
 */
export function readStrictJson(text: string): JsonDocument {
  try {
    const members = new Scan(text, false).document();
    return new JsonDocument(JSON.parse(text) as unknown, text, members);
  } catch (error) {
    // The quick scan skips the inside of strings; a bad escape or a raw control character surfaces here, without a position.
    if (!(error instanceof JsonFault)) new Scan(text, true).document();
    throw error;
  }
}

/**
 * Whether a double keeps what the literal says. An integer must come back digit for digit when it is written again.
 * Literals with a fraction or an exponent are measurements and may round, but not to zero or infinity, nor may they
 * lose digits in front of the point.
 */
export function isFaithful(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  if (value !== 0 && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return true;
  const digits = significantDigits(literal);
  if (value === 0) return digits === '';
  return /[.eE]/.test(literal) ? digits.length <= 17 : digits === significantDigits(String(value));
}

function significantDigits(literal: string): string {
  return literal
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');
}

/** One pass over a text. It checks structure, keys and numbers; the inside of strings only if `careful`. */
class Scan {
  private at = 0;
  private depth = 0;
  /** Per open level: the index of the item in an array, or minus the offset of the key in an object. */
  private readonly trail: number[] = [];
  /** Offsets of start and end of the keys of the open objects with few keys, innermost last. */
  private readonly spans: number[] = [];
  private top = 0;
  private readonly members: MemberOffsets[] = [];
  private readonly hasEscapes: boolean;

  constructor(
    private readonly text: string,
    private readonly careful: boolean,
  ) {
    this.hasEscapes = text.includes('\\');
  }

  /** Checks the whole text and returns the offsets of the members of its outermost object. */
  document(): readonly MemberOffsets[] {
    this.value(this.peek());
    this.peek();
    if (this.at < this.text.length) throw this.broken();
    return this.members;
  }

  /** The next character that is not white space; NaN at the end. */
  private peek(): number {
    let c = this.text.charCodeAt(this.at);
    while (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = this.text.charCodeAt(++this.at);
    return c;
  }

  private value(c: number): void {
    if (c === QUOTE) this.string();
    else if (c === OPEN_BRACE) this.object();
    else if (c === OPEN_BRACKET) this.array();
    else if (c === MINUS || (c >= ZERO && c <= NINE)) this.number();
    else this.word();
  }

  private object(): void {
    this.enter();
    const base = this.top;
    let seen: Set<string> | undefined;
    let c = this.peek();
    while (c !== CLOSE_BRACE) {
      if (c !== QUOTE) throw this.broken();
      seen = this.key(base, seen);
      const keyEnd = this.at - 1;
      if (this.peek() !== COLON) throw this.broken();
      this.at++;
      c = this.peek();
      const start = this.at;
      this.value(c);
      if (this.depth === 1) this.members.push({ keyStart: -this.trail[0]!, keyEnd, start, end: this.at });
      c = this.peek();
      if (c !== COMMA) break;
      this.at++;
      c = this.peek();
      if (c === CLOSE_BRACE) throw this.broken();
    }
    this.leave(CLOSE_BRACE, c);
    this.top = base;
  }

  private array(): void {
    this.enter();
    let c = this.peek();
    while (c !== CLOSE_BRACKET) {
      this.value(c);
      c = this.peek();
      if (c !== COMMA) break;
      this.at++;
      this.trail[this.depth - 1]!++;
      c = this.peek();
      if (c === CLOSE_BRACKET) throw this.broken();
    }
    this.leave(CLOSE_BRACKET, c);
  }

  private enter(): void {
    if (this.depth === MAX_JSON_DEPTH)
      throw this.fault('too_deep', `is nested more than ${MAX_JSON_DEPTH} levels deep`);
    this.trail[this.depth++] = 0;
    this.at++;
  }

  private leave(expected: number, c: number): void {
    if (c !== expected) throw this.broken();
    this.at++;
    this.depth--;
  }

  /**
   * Reads one key of the object whose spans begin at `base` and refuses it if the object has it already. The first keys
   * are compared in place; from the first escaped one or the ninth on, they are in the set that is returned.
   */
  private key(base: number, seen: Set<string> | undefined): Set<string> | undefined {
    const start = this.at + 1;
    this.trail[this.depth - 1] = -start;
    this.string();
    const end = this.at - 1;
    const isEscaped = this.hasEscapes && this.text.slice(start, end).includes('\\');
    if (isEscaped || end - start === PROTO.length) this.refuseProto(start, end);
    if (seen === undefined && !isEscaped && this.top - base < FEW_KEYS * 2) {
      this.compare(base, start, end);
      return undefined;
    }
    const names = seen ?? this.namesFrom(base);
    const { size } = names;
    if (names.add(this.keyAt(start, end)).size === size) throw this.repeated();
    return names;
  }

  private compare(base: number, start: number, end: number): void {
    const { spans, top } = this;
    for (let i = base; i < top; i += 2) {
      if (spans[i + 1]! - spans[i]! === end - start && this.equal(spans[i]!, start, end - start)) throw this.repeated();
    }
    spans[top] = start;
    spans[top + 1] = end;
    this.top = top + 2;
  }

  private namesFrom(base: number): Set<string> {
    const names = new Set<string>();
    for (let i = base; i < this.top; i += 2) names.add(this.text.slice(this.spans[i], this.spans[i + 1]));
    return names;
  }

  private equal(a: number, b: number, length: number): boolean {
    for (let i = 0; i < length; i++) if (this.text.charCodeAt(a + i) !== this.text.charCodeAt(b + i)) return false;
    return true;
  }

  private refuseProto(start: number, end: number): void {
    if (this.keyAt(start, end) === PROTO) throw this.fault('forbidden_key', 'is a key that is not accepted');
  }

  private repeated(): JsonFault {
    return this.fault('duplicate_key', 'is given more than once');
  }

  private keyAt(start: number, end: number): string {
    return unescapeKey(this.text.slice(start, end));
  }

  /** Moves behind the closing quote of the string that opens here. */
  private string(): void {
    if (this.careful) return this.carefulString();
    let end = this.text.indexOf('"', this.at + 1);
    while (this.hasEscapes && end !== -1 && this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    this.at = end === -1 ? this.text.length : end + 1;
    if (end === -1) throw this.broken();
  }

  private isEscaped(quote: number): boolean {
    let i = quote;
    while (this.text.charCodeAt(i - 1) === BACKSLASH) i--;
    return (quote - i) % 2 === 1;
  }

  private carefulString(): void {
    for (this.at++; ; this.at++) {
      const c = this.text.charCodeAt(this.at);
      if (c === QUOTE) break;
      if (c === BACKSLASH) {
        ESCAPE.lastIndex = this.at;
        if (!ESCAPE.test(this.text)) throw this.broken();
        this.at = ESCAPE.lastIndex - 1;
      } else if (!(c >= 0x20)) throw this.broken();
    }
    this.at++;
  }

  private number(): void {
    const start = this.at;
    const integerEnd = this.digits(start + 1);
    let c = this.text.charCodeAt(integerEnd);
    this.at = c === DOT ? this.digits(integerEnd + 1) : integerEnd;
    if (c === DOT) c = this.text.charCodeAt(this.at);
    const isExponent = c === 0x65 || c === 0x45;
    if (!this.careful && !isExponent && integerEnd - start <= SURE_DIGITS && this.at - start <= SURE_LENGTH) return;
    if (isExponent) {
      c = this.text.charCodeAt(this.at + 1);
      this.at = this.digits(c === 0x2b || c === MINUS ? this.at + 2 : this.at + 1);
    }
    this.check(start);
  }

  private digits(from: number): number {
    let at = from;
    let c = this.text.charCodeAt(at);
    while (c >= ZERO && c <= NINE) c = this.text.charCodeAt(++at);
    return at;
  }

  private check(start: number): void {
    const literal = this.text.slice(start, this.at);
    if (!NUMBER.test(literal)) {
      this.at = start;
      throw this.broken();
    }
    if (!isFaithful(literal))
      throw this.fault('number_not_exact', 'is a number that a double does not hold; send it as a string');
  }

  private word(): void {
    const word = WORDS.find((candidate) => this.text.startsWith(candidate, this.at));
    if (word === undefined) throw this.broken();
    this.at += word.length;
  }

  private broken(): JsonFault {
    const what = this.at < this.text.length ? 'unexpected character' : 'unexpected end';
    return new JsonFault('invalid_json', `${what} at position ${this.at}`, '', this.at);
  }

  private fault(code: JsonFaultCode, message: string): JsonFault {
    const path = this.trail
      .slice(0, this.depth)
      .map((step) => this.token(step))
      .join('');
    return new JsonFault(code, message, path.length > MAX_POINTER ? `${path.slice(0, MAX_POINTER)}…` : path, this.at);
  }

  private token(step: number): string {
    if (step >= 0) return `/${step}`;
    this.at = -step - 1;
    this.string();
    return pointerTo(this.keyAt(-step, this.at - 1));
  }
}
