import { type Fault, faulty } from '#lib/domain';
import type { Pagination } from './wire.js';

/** A page as it was asked for, numbered from 1. */
export interface PageNumber {
  readonly currentPage: number;
  readonly pageSize: number;
}

const DEFAULT_SIZE = 10;
const MAX_SIZE = 100;
const NUMBER = /^\d{1,10}$/;
/** The type of both parameters is int32. */
const MAX_NUMBER = 2_147_483_647;

/**
 * The query of the three lists (operations listAgentTasks, listAgentTaskSteps, listAgentTaskArtifacts). A larger page than
 * we give is cut, and says so.
 * @throws DomainError `invalid_request`
 */
export function decodePage(query: Readonly<Record<string, unknown>>): PageNumber {
  const faults: Fault[] = [];
  const read = (name: string, otherwise: number): number => {
    const text = query[name];
    if (text === undefined) return otherwise;
    const value = typeof text === 'string' && NUMBER.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= MAX_NUMBER) return value;
    faults.push({ path: `query.${name}`, code: 'is_int', message: 'must be a whole number of at least 1' });
    return otherwise;
  };
  const page = {
    currentPage: read('current_page', 1),
    pageSize: Math.min(read('page_size', DEFAULT_SIZE), MAX_SIZE),
  };
  if (faults.length > 0) throw faulty('invalid_request', faults);
  return page;
}

/** How many items come before the page. */
export function offsetOf({ currentPage, pageSize }: PageNumber): number {
  return (currentPage - 1) * pageSize;
}

/** Schema `Pagination`. */
export function encodePagination({ currentPage, pageSize }: PageNumber, total: number): Pagination {
  return {
    total_items: total,
    total_pages: Math.ceil(total / pageSize),
    current_page: currentPage,
    page_size: pageSize,
  };
}
