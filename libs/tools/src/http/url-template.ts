import { ToolError } from '#lib/domain';

/**
 * A URL with places for arguments. A value is one path segment (or part of one) or the value of one query parameter,
 * percent-encoded: it can add no segment, no parameter, and no name, and never reaches scheme, host or port.
 */
export interface UrlTemplate {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly segments: readonly Piece[][];
  readonly query: readonly { readonly name: string; readonly value: readonly Piece[] }[];
}

/** Text as it is, or the name of an argument. */
type Piece = { readonly text: string } | { readonly argument: string };

/** A URL template that cannot be used; the message completes "the URL …". */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Segments that mean another one. */
const DOTS = /^(?:\.|%2e){1,2}$/i;
const PLACE = /\{([A-Za-z_][A-Za-z0-9_-]{0,99})\}/g;

/** @throws TemplateError */
export function parseUrlTemplate(text: string): UrlTemplate {
  if (/[\s\p{Cc}\\]/u.test(text)) throw new TemplateError('must hold no space, control character or backslash');
  const [, origin, path = '', query] = /^(https?:\/\/[^/?#{}@]+)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(text) ?? [];
  if (origin === undefined || !URL.canParse(origin)) {
    throw new TemplateError('must be http or https, with a host without arguments, credentials or fragment');
  }
  const segments = path === '' ? [[]] : path.slice(1).split('/').map(piecesOf);
  if (segments.some(isDots)) throw new TemplateError('must hold no . or .. as a segment');
  const parameters = query === undefined || query === '' ? [] : query.split('&').map(parameterOf);
  return { origin: new URL(origin).origin, segments, query: parameters };
}

/** Names of the arguments the template takes: those of its path, which have to be given, and those of its query. */
export function argumentsOf({ segments, query }: UrlTemplate): {
  readonly path: readonly string[];
  readonly query: readonly string[];
} {
  const names = (pieces: readonly Piece[]): string[] =>
    pieces.flatMap((piece) => ('argument' in piece ? [piece.argument] : []));
  return { path: segments.flatMap(names), query: query.flatMap(({ value }) => names(value)) };
}

/** The URL of a call. A parameter whose argument is missing is left out. @throws ToolError `invalid_arguments` */
export function fillUrl(template: UrlTemplate, args: Readonly<Record<string, unknown>>): string {
  const segments = template.segments.map((pieces) => segmentOf(pieces, args));
  const parameters = template.query.flatMap(({ name, value }) => {
    const filled = value.map((piece) => textOf(piece, args));
    return filled.includes(undefined) ? [] : [`${name}=${filled.join('')}`];
  });
  const url = `${template.origin}/${segments.join('/')}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
  assertShape(url, segments.length, template.origin);
  return url;
}

/** Whatever was overlooked above ends here, not at somebody else's path. */
function assertShape(url: string, segments: number, origin: string): void {
  const parsed = new URL(url);
  if (parsed.origin === origin && parsed.pathname.split('/').length === segments + 1 && parsed.hash === '') return;
  throw new ToolError('invalid_arguments', 'The arguments do not fit into the address of the tool.');
}

function segmentOf(pieces: readonly Piece[], args: Readonly<Record<string, unknown>>): string {
  const texts = pieces.map((piece) => {
    const text = textOf(piece, args);
    if (text === undefined) throw missing(piece);
    return text;
  });
  const segment = texts.join('');
  const isTaken = pieces.some((piece) => 'argument' in piece);
  if (isTaken && (segment === '' || DOTS.test(segment))) {
    throw new ToolError('invalid_arguments', 'An argument of the path must not be empty, . or ..');
  }
  return segment;
}

function missing(piece: Piece): ToolError {
  const name = 'argument' in piece ? piece.argument : '';
  return new ToolError('invalid_arguments', `/${name} is missing.`);
}

function textOf(piece: Piece, args: Readonly<Record<string, unknown>>): string | undefined {
  if ('text' in piece) return piece.text;
  const text = scalarOf(args, piece.argument);
  return text === undefined ? undefined : encode(text, piece.argument);
}

/** An argument as text; undefined when it is missing or null. @throws ToolError for one that is no scalar. */
export function scalarOf(args: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new ToolError('invalid_arguments', `/${name} must be a string, a number or a boolean.`);
}

function encode(text: string, name: string): string {
  try {
    return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  } catch {
    throw new ToolError('invalid_arguments', `/${name} is not text.`);
  }
}

function parameterOf(text: string): UrlTemplate['query'][number] {
  const at = text.indexOf('=');
  const name = at < 0 ? text : text.slice(0, at);
  if (name === '' || /[{}]/.test(name)) throw new TemplateError('must name its query parameters, without arguments');
  return { name: literal(name), value: at < 0 ? [] : piecesOf(text.slice(at + 1)) };
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(PLACE)) {
    if (found.index > from) pieces.push({ text: literal(text.slice(from, found.index)) });
    pieces.push({ argument: found[1]! });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ text: literal(text.slice(from)) });
  return pieces;
}

/** What an operator wrote, as it is, once it can only mean itself. */
function literal(text: string): string {
  if (/[{}]/.test(text)) throw new TemplateError('must hold { and } only around the name of an argument');
  if (/^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-F]{2})*$/i.test(text)) return text;
  throw new TemplateError('must be escaped where it holds other than ASCII letters, digits and marks');
}

function isDots(pieces: readonly Piece[]): boolean {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined && 'text' in only && DOTS.test(only.text);
}
