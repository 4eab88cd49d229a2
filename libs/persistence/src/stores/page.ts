import { DomainError, type Page, type PageRequest } from '#lib/domain';

/** One row more than the limit was read: it says that there is a next page, and is not shown. */
export function cut<T>(rows: readonly T[], page: PageRequest, keyOf: (item: T) => string): Page<T> {
  const items = rows.slice(0, page.limit);
  const last = items.at(-1);
  if (rows.length <= page.limit || last === undefined) return { items };
  return { items, nextCursor: Buffer.from(keyOf(last)).toString('base64url') };
}

/** The key a cursor stands for. @throws DomainError `invalid_request` when it is not of this form. */
export function decodeCursor(page: PageRequest, form: RegExp): string | undefined {
  if (page.cursor === undefined) return undefined;
  const key = Buffer.from(page.cursor, 'base64url').toString();
  if (form.test(key)) return key;
  const fault = { path: 'query.cursor', code: 'invalid_cursor', message: 'is not a cursor this list gave out' };
  throw new DomainError('invalid_request', 'The cursor is not valid.', { faults: [fault] });
}
