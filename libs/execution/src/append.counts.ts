import type { EventBody, Metrics } from '#lib/domain';
import type { Outcomes } from './batch-commit.js';
import { RunCursor, type Work } from './write-queue.js';

type Counts = { readonly [E in EventBody as E['type']]?: (metrics: Metrics, payload: E['payload']) => void };

/** What single events say to those who watch. Every end and every stall of a task goes through an append. */
const COUNTS: Counts = {
  'task.succeeded': (metrics) => metrics.count('switchyard_tasks_ended_total', { state: 'succeeded' }),
  'task.failed': (metrics, { error: { code } }) => {
    metrics.count('switchyard_tasks_ended_total', { state: 'failed' });
    metrics.count('switchyard_tasks_failed_total', { code });
  },
  'task.cancelled': (metrics, { forced }) => {
    metrics.count('switchyard_tasks_ended_total', { state: 'cancelled' });
    if (forced) metrics.count('switchyard_cancels_forced_total', {});
  },
  'task.stalled': (metrics, { reason, waiting_on }) =>
    metrics.count('switchyard_tasks_stalled_total', { reason: waiting_on === 'worker' ? 'no_worker' : reason }),
  'task.recovered': (metrics) => metrics.count('switchyard_tasks_recovered_total', {}),
};

/** Counts what became of a batch that took so long. */
export function countBatch(metrics: Metrics, outcomes: Outcomes, seconds: number): void {
  let events = 0;
  for (const [work, { kind }] of outcomes) {
    if (kind === 'stored') {
      events += work.append.events.length;
      countWork(metrics, work);
    } else if (kind === 'fenced') {
      const guard = work.writes[0]?.guard instanceof RunCursor ? 'run' : 'control';
      metrics.count('switchyard_appends_fenced_total', { guard });
    }
  }
  if (events > 0) metrics.count('switchyard_events_stored_total', {}, events);
  metrics.observe('switchyard_append_batch_events', {}, events);
  metrics.observe('switchyard_append_seconds', {}, seconds);
}

function countWork(metrics: Metrics, { append: { events, dispatch } }: Work): void {
  for (const { body } of events) {
    (COUNTS[body.type] as ((metrics: Metrics, payload: unknown) => void) | undefined)?.(metrics, body.payload);
  }
  if (dispatch?.reason === 'error') metrics.count('switchyard_runs_retried_total', {});
  if (dispatch?.reason === 'handover') metrics.count('switchyard_runs_handed_over_total', {});
}
