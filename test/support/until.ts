export interface UntilOptions {
  /** How long to wait before giving up; default 10 s. */
  timeoutMs?: number;
  intervalMs?: number;
  /** What is waited for, for the message of the failure; default: the source of the condition. */
  what?: string;
}

/** Polls until `condition` answers something truthy, and answers that. What it throws counts as "not yet". */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs = 20, what = condition.toString() }: UntilOptions = {},
): Promise<NonNullable<T>> {
  const startedMs = performance.now();
  let last: unknown;
  let cause: unknown;
  do {
    try {
      last = await condition();
      cause = undefined;
      if (last) return last as NonNullable<T>;
    } catch (error) {
      cause = error;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  } while (performance.now() - startedMs < timeoutMs);
  const seen = cause === undefined ? `last answer: ${String(last)}` : `last error: ${String(cause)}`;
  throw new Error(`Not within ${timeoutMs} ms: ${what} (${seen})`, { cause });
}
