import { type Fault, faulty, pointerOf } from '#lib/domain';
import { z } from 'zod';
import type { FreeObject } from './wire.js';

const FREE_OBJECT = z.record(z.string(), z.unknown());

/** `TaskRequestBody` and `StepRequestBody`: the same two fields; null is taken for absent, other fields are not looked at. */
const REQUEST = z.object({ input: z.string().nullish(), additional_input: FREE_OBJECT.nullish() });

/** What is asked of a task, or of a step. */
export interface RequestBody {
  readonly input?: string;
  readonly additionalInput?: FreeObject;
}

/** The body of createAgentTask or executeAgentTaskStep. @throws DomainError `invalid_request` */
export function decodeRequest(body: unknown): RequestBody {
  const { input, additional_input } = parse(REQUEST, body, '');
  return {
    ...(input == null ? {} : { input }),
    ...(additional_input == null ? {} : { additionalInput: additional_input }),
  };
}

const ANSWER = z.object({
  wait_id: z.string().optional(),
  decisions: z
    .array(
      z.object({
        tool_call_id: z.string(),
        approved: z.boolean(),
        reason: z.string().nullish(),
        edited_args: z.unknown().optional(),
      }),
    )
    .max(1_000)
    .default([]),
  results: z
    .array(z.object({ tool_call_id: z.string(), output: z.unknown().optional(), error: z.string().nullish() }))
    .max(1_000)
    .default([]),
});

/** How `additional_input` of a step answers what the task waits for: a use of ours of what the protocol leaves open. */
export type StepAnswer = z.output<typeof ANSWER>;

/** @throws DomainError `invalid_request` for an answer that is malformed; what holds none is something else's. */
export function decodeAnswer(additionalInput: FreeObject): StepAnswer {
  return parse(ANSWER, additionalInput, '/additional_input');
}

function parse<T extends z.ZodType>(schema: T, value: unknown, path: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw faulty(
    'invalid_request',
    parsed.error.issues.map((issue): Fault => ({
      path: path + pointerOf(issue.path),
      code: issue.code,
      message: messageOf(issue),
    })),
  );
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  return issue.expected === 'record' || issue.expected === 'object'
    ? 'must be an object'
    : `must be of the type ${issue.expected}`;
}
