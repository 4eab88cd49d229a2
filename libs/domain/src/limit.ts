/** What a limit is counted in; the names of draft-ietf-httpapi-ratelimit-headers-10 (4.1.2) where it has one. */
export type LimitUnit = 'requests' | 'concurrent-requests' | 'tasks' | 'bytes';

/** Where somebody stands with one limit. */
export interface LimitStanding {
  /** Its name, stable: whose it is and what it counts, such as `tenant-requests`. */
  readonly policy: string;
  /** What is allowed, in `unit`; with `windowSeconds` in that time. */
  readonly quota: number;
  readonly unit: LimitUnit;
  /** Absent for what is held rather than used up: streams, tasks, bytes. */
  readonly windowSeconds?: number;
  /** What is left, in `unit`; 0 and up. */
  readonly remaining: number;
  /** Seconds until there is more, as far as that is known. */
  readonly resetSeconds?: number;
}
