import type { MetricLabels, MetricOf } from '../metrics.js';

/** What a gauge shows, one value per combination of labels. */
export type Reading<N extends MetricOf<'gauge'>> = readonly (readonly [labels: MetricLabels<N>, value: number])[];

/** Counts what happens in a process, for those who watch it. Cheap, and never fails. */
export abstract class Metrics {
  abstract count<N extends MetricOf<'counter'>>(name: N, labels: MetricLabels<N>, by?: number): void;
  abstract observe<N extends MetricOf<'histogram'>>(name: N, labels: MetricLabels<N>, value: number): void;
  /** `read` is called whenever somebody looks; one that rejects leaves the metric out of that look. */
  abstract gauge<N extends MetricOf<'gauge'>>(name: N, read: () => Reading<N> | Promise<Reading<N>>): void;
}

/** Counts nothing: where nobody watches. */
export const NO_METRICS: Metrics = {
  count: () => undefined,
  observe: () => undefined,
  gauge: () => undefined,
};
