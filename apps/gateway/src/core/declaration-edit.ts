import { canonicalJson, DomainError, type Fault } from '#lib/domain';
import { createHash } from 'node:crypto';

/** A declaration as it is stored: as it was written. */
export type Source = Readonly<Record<string, unknown>>;

/** What a caller expects of what it changes; nothing: any state is fine. */
export interface Expectation {
  /** `*`: that there is one; else that its version is one of these. */
  readonly ifMatch?: '*' | readonly number[];
  /** `*`: that there is none; else that its version is none of these. */
  readonly ifNoneMatch?: '*' | readonly number[];
}

/** More faults than this say nothing new and may be as long as the body. */
const MAX_FAULTS = 20;

/** A declaration that came under this id. @throws DomainError `invalid_request` */
export function sourceOf(body: unknown, id: string): Source {
  return withId(assertObject(body), id);
}

/** @throws DomainError `invalid_request` */
export function assertObject(body: unknown): Source {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Source;
  throw refused([{ path: '', message: 'must be object' }]);
}

/** The path names what is declared; a body may repeat its name, and no other. */
export function withId(source: Source, id: string): Source {
  if (!Object.hasOwn(source, 'id')) return { id, ...source };
  if (source['id'] === id) return source;
  throw refused([{ path: '/id', message: 'must be the id in the path' }]);
}

/** @throws DomainError `precondition_failed` */
export function assertExpected(
  current: { readonly version: number } | undefined,
  { ifMatch, ifNoneMatch }: Expectation,
  noun: string,
): void {
  const isOneOf = (versions: '*' | readonly number[]): boolean =>
    current !== undefined && (versions === '*' || versions.includes(current.version));
  if ((ifMatch && !isOneOf(ifMatch)) || (ifNoneMatch && isOneOf(ifNoneMatch))) {
    throw new DomainError('precondition_failed', `The ${noun} is not in the state the request expects; read it again.`);
  }
}

/** The error of a declaration with these faults. */
export function refused(
  found: readonly { readonly path: string; readonly message: string }[],
  code = 'declaration',
): DomainError {
  const faults: readonly Fault[] = found.slice(0, MAX_FAULTS).map(({ path, message }) => ({ path, code, message }));
  const [first] = faults;
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  return new DomainError('invalid_request', `${first?.path || 'The body'}: ${first?.message}${more}.`, { faults });
}

/** What a record says of a declaration. */
export function digestOf(source: Source): string {
  return createHash('sha256').update(canonicalJson(source)).digest('hex');
}
