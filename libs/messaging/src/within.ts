import { UnavailableError } from '#lib/domain';

/** The outcome of `work`, or `unavailable` when it takes longer; `work` itself goes on. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new UnavailableError('No answer in time.')), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
