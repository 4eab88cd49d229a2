import type { Request } from 'express';
import type { DomainError } from '#lib/domain';
import { pathOf } from './denial.js';
import { encodeProblem, PROBLEM_TYPE } from './problem.js';

/** An error as one wire spells it. */
export interface WireError {
  readonly status: number;
  /** Media type of the body. */
  readonly type: string;
  readonly body: string;
}

/** Spells an error on the wire that the request came by. */
export type ErrorEncoder = (error: DomainError, request: Request) => WireError;

/** How errors are spelt, by what paths begin with: whatever goes wrong there, also before a route is met. */
export class ErrorWires {
  private readonly encoders = new Map<string, ErrorEncoder>();

  /** Everything under `prefix`, `/a2a` for example, and the path itself. */
  add(prefix: string, encoder: ErrorEncoder): void {
    this.encoders.set(prefix, encoder);
  }

  encode(error: DomainError, request: Request): WireError {
    const path = pathOf(request);
    const encoder = [...this.encoders].find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
    return encoder?.(error, request) ?? encodeAsProblem(error, path);
  }
}

function encodeAsProblem(error: DomainError, path: string): WireError {
  const problem = encodeProblem(error, path);
  return { status: problem.status, type: PROBLEM_TYPE, body: JSON.stringify(problem) };
}
