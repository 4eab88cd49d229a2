import { type MetricLabels, type MetricOf, type MetricSpec, METRICS, Metrics, type Reading } from '#lib/domain';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What a scrape is answered with. */
export interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Metrics in the text format of Prometheus: those of the process and the runtime under their usual names, ours as the
 * table says.
 */
export class PromMetrics extends Metrics {
  private readonly registry = new Registry();
  private readonly counters = new Map<string, Counter>();
  private readonly histograms = new Map<string, Histogram>();
  private readonly gauges = new Map<string, () => Promise<void>>();

  /** Has the metrics of this kind of process, at 0 before anything has happened where they have no labels. */
  constructor(process: 'gateway' | 'runtime') {
    super();
    collectDefaultMetrics({ register: this.registry });
    for (const [name, spec] of Object.entries<MetricSpec>(METRICS)) {
      if (spec.of === process || spec.of === 'both') this.register(name, spec);
    }
  }

  override count<N extends MetricOf<'counter'>>(name: N, labels: MetricLabels<N>, by = 1): void {
    this.counters.get(name)?.inc(labels, by);
  }

  override observe<N extends MetricOf<'histogram'>>(name: N, labels: MetricLabels<N>, value: number): void {
    this.histograms.get(name)?.observe(labels, value);
  }

  override gauge<N extends MetricOf<'gauge'>>(name: N, read: () => Reading<N> | Promise<Reading<N>>): void {
    const gauge = this.registry.getSingleMetric(name) as Gauge | undefined;
    if (!gauge) return;
    this.gauges.set(name, async () => {
      gauge.reset();
      for (const [labels, value] of await read()) gauge.set(labels, value);
    });
  }

  /** Never rejects: a gauge that cannot be read shows nothing. */
  async page(): Promise<MetricsPage> {
    await Promise.allSettled([...this.gauges.values()].map((read) => read()));
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  private register(name: string, { kind, labels: labelNames, help, buckets = [] }: MetricSpec): void {
    const options = { name, help, labelNames, registers: [this.registry] };
    if (kind === 'counter') this.counters.set(name, new Counter(options));
    else if (kind === 'histogram') this.histograms.set(name, new Histogram({ ...options, buckets: [...buckets] }));
    else new Gauge(options);
  }
}
