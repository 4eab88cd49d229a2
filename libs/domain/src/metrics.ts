/**
 * Every metric of ours, by name. Values of labels come from closed sets, or from what operators declare: never from
 * callers, so that their number is bounded. docs/operations.md is compared with this table by a test.
 */
export const METRICS = define({
  switchyard_tasks_submitted_total: {
    kind: 'counter',
    of: 'gateway',
    labels: [],
    help: 'Tasks that were stored; a repeat of a request does not count.',
  },
  switchyard_tasks_ended_total: {
    kind: 'counter',
    of: 'both',
    labels: ['state'],
    help: 'Tasks that ended: succeeded, failed or cancelled.',
  },
  switchyard_tasks_failed_total: {
    kind: 'counter',
    of: 'both',
    labels: ['code'],
    help: 'Tasks that failed, by the code of their error; `poison` names tasks that lost their runtime each time.',
  },
  switchyard_tasks_stalled_total: {
    kind: 'counter',
    of: 'both',
    labels: ['reason'],
    help: 'Tasks shown as stalled: no_progress of their run, no worker to take it, or a blocked runtime.',
  },
  switchyard_tasks_recovered_total: {
    kind: 'counter',
    of: 'both',
    labels: [],
    help: 'Stalled tasks that went on.',
  },
  switchyard_cancels_forced_total: {
    kind: 'counter',
    of: 'both',
    labels: [],
    help: 'Tasks cancelled without their runner: it did not stop within its grace, or was gone.',
  },
  switchyard_mcp_server_connected: {
    kind: 'gauge',
    of: 'both',
    labels: ['server'],
    help: 'Whether this process is connected to an MCP server: 1 it is. A gateway connects when a tool is called.',
  },
  switchyard_tool_breaker_state: {
    kind: 'gauge',
    of: 'both',
    labels: ['tool'],
    help: 'Whether this process calls a declared tool: 0 it does, 1 one call is out to see, 2 not for a while.',
  },
  switchyard_runs_claimed_total: {
    kind: 'counter',
    of: 'runtime',
    labels: ['runner', 'reason'],
    help: 'Runs this runtime has won, by why they were to start: submitted, resumed, error, lost or handover.',
  },
  switchyard_runs_lost_total: {
    kind: 'counter',
    of: 'both',
    labels: ['runner'],
    help: 'Runs this process has closed because their lease ran out.',
  },
  switchyard_runs_retried_total: {
    kind: 'counter',
    of: 'runtime',
    labels: [],
    help: 'Runs that failed without effects and are followed by another attempt.',
  },
  switchyard_runs_handed_over_total: {
    kind: 'counter',
    of: 'runtime',
    labels: [],
    help: 'Runs given back for others because this runtime stops.',
  },
  switchyard_runs_open: {
    kind: 'gauge',
    of: 'runtime',
    labels: [],
    help: 'Runs this runtime is at work on.',
  },
  switchyard_appends_fenced_total: {
    kind: 'counter',
    of: 'both',
    labels: ['guard'],
    help: 'Appends that were refused: of a run that is not the live one any more, or a control event that came late.',
  },
  switchyard_events_stored_total: {
    kind: 'counter',
    of: 'both',
    labels: [],
    help: 'Events this process has stored, without those of submissions and claims.',
  },
  switchyard_append_batch_events: {
    kind: 'histogram',
    of: 'both',
    labels: [],
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500],
    help: 'Events in one append statement.',
  },
  switchyard_append_seconds: {
    kind: 'histogram',
    of: 'both',
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 60],
    help: 'How long a batch took to be stored, its repeats included.',
  },
  switchyard_sweep_seconds: {
    kind: 'histogram',
    of: 'both',
    labels: ['sweep'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
    help: 'How long one pass of a sweep took.',
  },
  switchyard_sweep_lag_seconds: {
    kind: 'gauge',
    of: 'both',
    labels: ['sweep'],
    help: 'How far the next end of a sweep is behind its time: 0 while it keeps to its interval.',
  },
  switchyard_outbox_due: {
    kind: 'gauge',
    of: 'gateway',
    labels: [],
    help: 'Runs nobody has claimed that are due to be queued again, at most 10,000; the same from every gateway.',
  },
  switchyard_queue_depth: {
    kind: 'gauge',
    of: 'gateway',
    labels: ['pool'],
    help: 'Jobs that wait in the queue of a pool; the same from every gateway.',
  },
  switchyard_webhook_attempts_total: {
    kind: 'counter',
    of: 'gateway',
    labels: ['outcome'],
    help: 'Attempts to deliver a message to a webhook or callback: delivered, or why not.',
  },
  switchyard_webhooks_due: {
    kind: 'gauge',
    of: 'gateway',
    labels: [],
    help: 'Messages that are due to webhooks and callbacks, at most 10,000; the same from every gateway.',
  },
  switchyard_streams_open: {
    kind: 'gauge',
    of: 'gateway',
    labels: [],
    help: 'Event streams that are open.',
  },
  switchyard_limits_refused_total: {
    kind: 'counter',
    of: 'gateway',
    labels: ['scope', 'limit'],
    help: 'What was refused with 429: by whose limit, tenant or key, and which.',
  },
  switchyard_connections_dropped_total: {
    kind: 'counter',
    of: 'gateway',
    labels: [],
    help: 'Connections that were closed as they came, because there are as many as may be.',
  },
  switchyard_audit_lag_seconds: {
    kind: 'gauge',
    of: 'gateway',
    labels: [],
    help: 'Age of the oldest audit record that is not sealed; the same from every gateway.',
  },
  switchyard_audit_fault: {
    kind: 'gauge',
    of: 'gateway',
    labels: ['fault'],
    help: '1 while the audit trail is unsigned, not_sealed or not_pruned since it was altered, or not_exported.',
  },
  switchyard_http_requests_total: {
    kind: 'counter',
    of: 'gateway',
    labels: ['method', 'route', 'status'],
    help: 'Requests, by the route that matched, not the path; `none` where no route did.',
  },
  switchyard_http_request_seconds: {
    kind: 'histogram',
    of: 'gateway',
    labels: ['method', 'route'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 300],
    help: 'From the head of a request to the end of its answer; event streams are left out.',
  },
});

/** A row of the table. `of` names the processes that have it. */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly of: 'gateway' | 'runtime' | 'both';
  readonly labels: readonly string[];
  /** Upper bounds, ascending; of a histogram only. */
  readonly buckets?: readonly number[];
  readonly help: string;
}

function define<const T extends Record<`switchyard_${string}`, MetricSpec>>(table: T): T {
  return table;
}

/** The name of a metric. */
export type MetricName = keyof typeof METRICS;
/** The names of one kind. */
export type MetricOf<K extends MetricSpec['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];
/** A value for each label of a metric. */
export type MetricLabels<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>;
