import type { ServerResponse } from 'node:http';
import type { LimitStanding } from '#lib/domain';

/** The `RateLimit-Policy` and `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers-10 (sections 3 and 4). */
export function limitHeaders(limit: LimitStanding): Readonly<Record<string, string>> {
  const { policy, quota, unit, windowSeconds, remaining, resetSeconds } = limit;
  const units = unit === 'requests' ? '' : `;qu="${unit}"`;
  const window = windowSeconds === undefined ? '' : `;w=${windowSeconds}`;
  const reset = resetSeconds === undefined ? '' : `;t=${resetSeconds}`;
  return {
    'RateLimit-Policy': `"${policy}";q=${quota}${units}${window}`,
    RateLimit: `"${policy}";r=${remaining}${reset}`,
  };
}

/** Tells a caller that has less than half left. Others are told nothing, so that an answer costs no more for them. */
export function announceLimit(response: ServerResponse, limit: LimitStanding | undefined): void {
  if (limit === undefined) return;
  for (const [name, value] of Object.entries(limitHeaders(limit))) response.setHeader(name, value);
}
