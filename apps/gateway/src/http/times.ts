import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Matches } from 'class-validator';
import { invalid } from './dto.js';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const FRACTION = /\.(\d+)/;

/** An optional field with a moment in it, RFC 3339. */
export function MaybeTime(description: string): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ description, format: 'date-time' }),
    IsOptional(),
    IsString(),
    Matches(TIMESTAMP),
  );
}

/** A moment, to the millisecond and to the microsecond; what is finer is cut off. */
export interface Moment {
  readonly ms: number;
  /** `YYYY-MM-DDThh:mm:ss.ffffffZ`. */
  readonly text: string;
}

/** @throws DomainError `invalid_request` when the text is no time */
export function decodeMoment(text: string | undefined, path: string): Moment | undefined {
  if (text === undefined) return undefined;
  const ms = isDay(text) ? Date.parse(text) : NaN;
  // Years that take more or other than four digits are no times of the database either.
  const year = new Date(ms).getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) throw invalid([{ path, code: 'is_date', message: 'is no such time' }]);
  const fraction = (FRACTION.exec(text)?.[1] ?? '').slice(0, 6).padEnd(6, '0');
  return { ms, text: `${new Date(ms).toISOString().slice(0, 19)}.${fraction}Z` };
}

/** `Date` takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  const [date = ''] = text.split('T');
  const [, , day] = date.split('-');
  return new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
}
