import { AdapterError } from '../contract/index.js';

/** A stage did not come to a result, and another try may. */
export class StageRetryError extends Error {
  override readonly name = 'StageRetryError';
}

/** SQLSTATE classes and socket codes of a database that is away, overloaded or going down. */
const AWAY = /^(?:08|53|57)...$|^ECONN|^EPIPE$|^ENOTFOUND$|^EAI_|^ETIMEDOUT$/;
const MISSING_TABLE = '42P01';

/** Tried again within the run: a model's useless answer, a child that did not come up. */
export function mayRetryStage(error: unknown): boolean {
  const name = textOf(error, 'name');
  return name === 'StageRetryError' || name === 'SiteChildError' || AWAY.test(textOf(error, 'code'));
}

/** What the endpoint fails with need not fail the task; a spent budget must. */
export function canFallBack(error: unknown): boolean {
  return textOf(error, 'name') !== 'BudgetError';
}

/** What became of a run, in the contract's words; what nobody foresaw is thrown on as it is. Nothing a run does has effects outside. */
export function toAdapterError(error: unknown, signal: AbortSignal): unknown {
  const make = (kind: AdapterError['kind'], message: string): AdapterError =>
    new AdapterError(kind, message, { effects: 'none', cause: error });
  if (signal.aborted) return make('cancelled', 'The run was stopped.');
  if (textOf(error, 'code') === MISSING_TABLE) return make('unavailable', "The checkpointer's tables are missing.");
  if (
    AWAY.test(textOf(error, 'code')) ||
    textOf(error, 'message').startsWith('timeout exceeded when trying to connect')
  )
    return make('unavailable', 'The checkpointer could not reach its database.');
  if (textOf(error, 'name') === 'SiteChildError')
    return make('unavailable', 'The built back end could not be started here.');
  return error;
}

/** What a caller may read of a stage's error: names of ours, never words of an endpoint, which may quote a key. */
export function stageError(error: unknown): { code: string; message: string } {
  const cause = (error as { cause?: unknown } | null)?.cause ?? error;
  if (textOf(cause, 'name') === 'ModelAnswerError')
    return { code: 'invalid_answer', message: textOf(cause, 'message').slice(0, 500) };
  if (textOf(error, 'name') === 'StageRetryError')
    return { code: 'model_unavailable', message: 'The model endpoint failed.' };
  if (textOf(error, 'name') === 'SiteChildError')
    return { code: 'not_started', message: 'The built back end did not start.' };
  return { code: 'failed', message: 'The stage failed.' };
}

function textOf(value: unknown, field: string): string {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
  return typeof found === 'string' ? found : '';
}
