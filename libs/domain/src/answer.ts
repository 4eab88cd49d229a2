import { DomainError, type ErrorCode, type Fault } from './errors.js';
import type { ConfirmationBody } from './event-table.js';

/** What a model is told of a call that somebody denied without saying why. */
export const DENIAL = 'Permission denied by user';
const NO_RESULT = 'No result was given.';

/** What somebody decides about one pending item. Nothing but the boolean `true` approves. */
export interface DecisionRequest {
  readonly tool_call_id: string;
  readonly approved?: unknown;
  readonly reason?: string | null;
  /** Replaces the arguments whole. */
  readonly edited_args?: unknown;
}

/** What came of a client-side tool, or the answer to one question of several: `output` or `error`. */
export interface ResultRequest {
  readonly tool_call_id: string;
  readonly output?: unknown;
  readonly error?: string | null;
}

/** An answer as a caller gives it. */
export interface AnswerRequest {
  readonly decisions: readonly DecisionRequest[];
  readonly results: readonly ResultRequest[];
  /** Answers the one question, else says why what is undecided is denied. */
  readonly input?: string;
}

type Arguments = Readonly<Record<string, unknown>>;

/** What became of one pending item; these are kept in the log. */
export interface ItemAnswer {
  readonly tool_call_id: string;
  /** Of a confirmation, an authorisation, or a question whose proposal is accepted. */
  readonly approved?: boolean;
  readonly reason?: string;
  readonly edited_args?: Arguments;
  /** The answer to the only question. */
  readonly input?: string;
  readonly output?: unknown;
  readonly error?: string;
}

/**
 * What the next run is told: a decision for every confirmation, a result for every client-side tool, and for each
 * question `approved: true`, or its answer: as `input` when it is the only one, else as a result.
 */
export interface TaskAnswer {
  readonly decisions: readonly {
    readonly tool_call_id: string;
    readonly approved: boolean;
    readonly reason?: string;
    readonly edited_args?: Arguments;
  }[];
  readonly input?: string;
  readonly results: readonly { readonly tool_call_id: string; readonly output?: unknown; readonly error?: string }[];
}

/** Something that waits for an answer. */
export type PendingItem = Pick<ConfirmationBody, 'tool_call_id' | 'kind' | 'tool_name'>;

/** What is wrong with the arguments of a tool, none when nothing is; `path` is a JSON Pointer below them. */
export type ArgumentsCheck = (
  toolName: string,
  args: Arguments,
) => readonly { readonly path: string; readonly message: string }[];

/** An item with what the request says of it. */
interface Given {
  readonly item: PendingItem;
  readonly isOnlyQuestion: boolean;
  readonly decision?: DecisionRequest;
  readonly result?: ResultRequest;
  /** Meant for this item: the answer to a question, or why the rest is denied. */
  readonly input?: string;
}

/** True when the answer names no item: what it is meant for depends on what is asked. */
export function namesNothing({ decisions, results }: AnswerRequest): boolean {
  return decisions.length === 0 && results.length === 0;
}

/**
 * What an answer means for each pending item, in their order.
 * @throws DomainError `invalid_request`, `invalid_edited_args`, `ambiguous_input`, `answer_required`; with the path of the fault
 */
export function decideAnswer(
  pending: readonly PendingItem[],
  request: AnswerRequest,
  checkArguments: ArgumentsCheck,
): readonly ItemAnswer[] {
  const givens = placeInput(match(pending, request), request);
  checkEdits(givens, request, checkArguments);
  const answers = givens.map((given) => ({ given, answer: RULES[given.item.kind](given) }));
  const open = answers.filter(({ answer }) => answer === undefined);
  if (open.length > 0) {
    throw refused(
      'answer_required',
      open.map(({ given: { item } }) => ({
        path: '',
        code: 'answer_required',
        message: `leaves the question ${shorten(item.tool_call_id)} without an answer`,
      })),
    );
  }
  return answers.map(({ given, answer }) => ({ tool_call_id: given.item.tool_call_id, ...answer! }));
}

/** The same as the next run is told it. */
export function toTaskAnswer(items: readonly ItemAnswer[]): TaskAnswer {
  const input = items.find((item) => item.input !== undefined)?.input;
  return {
    decisions: items.flatMap(({ tool_call_id, approved, reason, edited_args }) =>
      approved === undefined ? [] : [compact({ tool_call_id, approved, reason, edited_args })],
    ),
    ...(input === undefined ? {} : { input }),
    results: items.flatMap(({ tool_call_id, output, error }) =>
      output === undefined && error === undefined ? [] : [compact({ tool_call_id, output, error })],
    ),
  };
}

type Rule = (given: Given) => Omit<ItemAnswer, 'tool_call_id'> | undefined;

/** Undefined: the item has no answer, and none can stand in for it. */
const RULES: Readonly<Record<ConfirmationBody['kind'], Rule>> = {
  tool_confirmation: decided,
  authorization: decided,
  question: answered,
  client_tool: returned,
};

function decided({ decision, input }: Given): Omit<ItemAnswer, 'tool_call_id'> {
  if (decision?.approved === true) return approval(decision);
  return { approved: false, reason: textOf(decision ? decision.reason : input) ?? DENIAL };
}

function answered({ decision, result, input, isOnlyQuestion }: Given): ReturnType<Rule> {
  if (decision?.approved === true) return compact({ ...approval(decision), input });
  // Why somebody refuses a proposal is what they answer to it.
  const answer: unknown = input ?? result?.output ?? textOf(decision?.reason);
  if (answer === undefined || answer === null) return undefined;
  return isOnlyQuestion && typeof answer === 'string' ? { input: answer } : { output: answer };
}

function returned({ decision, result, input }: Given): Omit<ItemAnswer, 'tool_call_id'> {
  if (result && 'output' in result) return { output: result.output };
  return { error: result?.error ?? textOf(decision?.reason) ?? textOf(input) ?? NO_RESULT };
}

function approval({ reason, edited_args }: DecisionRequest): Omit<ItemAnswer, 'tool_call_id'> {
  return compact({ approved: true, reason: textOf(reason), edited_args: (edited_args ?? undefined) as Arguments });
}

/** Puts what the request says beside the item it names. */
function match(pending: readonly PendingItem[], { decisions, results }: AnswerRequest): readonly Given[] {
  const known = new Set(pending.map((item) => item.tool_call_id));
  const seen = new Set<string>();
  const faults: Fault[] = [];
  const look = (id: string, path: string): void => {
    if (!known.has(id)) faults.push({ path, code: 'unknown_id', message: 'is nothing this task waits for' });
    else if (seen.has(id)) faults.push({ path, code: 'duplicate', message: 'is answered twice' });
    seen.add(id);
  };
  decisions.forEach(({ tool_call_id }, index) => look(tool_call_id, `/decisions/${index}/tool_call_id`));
  results.forEach(({ tool_call_id }, index) => look(tool_call_id, `/results/${index}/tool_call_id`));
  const isOnlyQuestion = pending.filter(isQuestion).length === 1;
  const givens = pending.map((item) => ({
    item,
    isOnlyQuestion,
    decision: decisions.find(({ tool_call_id }) => tool_call_id === item.tool_call_id),
    result: results.find(({ tool_call_id }) => tool_call_id === item.tool_call_id),
  }));
  faults.push(...givens.flatMap((given) => checkResult(given, results)));
  if (faults.length > 0) throw refused('invalid_request', faults);
  return givens;
}

function checkResult({ item: { kind }, result }: Given, results: readonly ResultRequest[]): Fault[] {
  if (!result) return [];
  const path = `/results/${results.indexOf(result)}`;
  if (kind !== 'client_tool' && kind !== 'question') {
    return [{ path, code: 'wrong_kind', message: 'is for what is approved or denied by a decision' }];
  }
  const isError = typeof result.error === 'string';
  if ('output' in result === isError) return [{ path, code: 'one_of', message: 'must have either output or error' }];
  return [];
}

/** Gives `input` to the question it answers; where there is none, to all that nothing else is said of. */
function placeInput(givens: readonly Given[], { input }: AnswerRequest): readonly Given[] {
  if (input === undefined) return givens;
  const questions = givens.filter(({ item }) => isQuestion(item));
  if (questions.length > 1) {
    throw refused('ambiguous_input', [
      { path: '/input', code: 'ambiguous_input', message: 'could answer several questions; use results' },
    ]);
  }
  const takers = questions.length === 1 ? questions : givens.filter(({ decision, result }) => !decision && !result);
  if (takers.length === 0 || takers.some(({ result }) => result)) {
    throw refused('invalid_request', [
      { path: '/input', code: 'duplicate', message: 'answers nothing that is not answered otherwise' },
    ]);
  }
  return givens.map((given) => (takers.includes(given) ? { ...given, input } : given));
}

function checkEdits(givens: readonly Given[], { decisions }: AnswerRequest, checkArguments: ArgumentsCheck): void {
  const faults = givens.flatMap(({ item: { kind, tool_name }, decision }) => {
    const args = decision?.edited_args;
    if (!decision || args === undefined || args === null) return [];
    const path = `/decisions/${decisions.indexOf(decision)}/edited_args`;
    const fault = (message: string, below = ''): Fault => ({
      path: path + below,
      code: 'invalid_edited_args',
      message,
    });
    if (typeof args !== 'object' || Array.isArray(args)) return [fault('must be an object')];
    if (kind === 'client_tool') return [fault('cannot change a call that is answered by its result')];
    if (tool_name === undefined || decision.approved !== true) return [];
    return checkArguments(tool_name, args as Arguments).map(({ path: below, message }) => fault(message, below));
  });
  if (faults.length > 0) throw refused('invalid_edited_args', faults);
}

function isQuestion({ kind }: PendingItem): boolean {
  return kind === 'question';
}

/** The text, unless it says nothing. */
function textOf(text: string | null | undefined): string | undefined {
  return text == null || text.trim() === '' ? undefined : text;
}

/** Faults name ids of the runner's, which may be long. */
function shorten(id: string): string {
  return id.slice(0, 100);
}

/** The object without the members that are undefined. */
function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}

function refused(code: ErrorCode, faults: readonly Fault[]): DomainError {
  const [first] = faults;
  return new DomainError(code, `${first?.path || 'The answer'}: ${first?.message}.`, { faults: faults.slice(0, 20) });
}
