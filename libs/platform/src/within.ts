/** What `work` resolves with, or undefined when `ms` have passed first; rejects with the reason of the signal. The work goes on. */
export async function within<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> {
  signal?.throwIfAborted();
  let stop = (): void => undefined;
  const limit = new Promise<undefined>((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  // Who is not waited for any more has nobody to tell of a failure.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}
