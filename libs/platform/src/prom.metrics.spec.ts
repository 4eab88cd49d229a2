import { describe, expect, it } from '@jest/globals';
import { METRICS, type MetricSpec } from '#lib/domain';
import { PromMetrics } from './prom.metrics.js';

const valuesOf = async (metrics: PromMetrics, name: string): Promise<string[]> =>
  (await metrics.page()).text.split('\n').filter((line) => line.startsWith(name));

describe('the metrics of a process', () => {
  it('are counted by label and shown in the text format, beside those of Node', async () => {
    const metrics = new PromMetrics('gateway');
    metrics.count('switchyard_tasks_ended_total', { state: 'failed' });
    metrics.count('switchyard_tasks_ended_total', { state: 'failed' }, 2);
    metrics.observe('switchyard_append_batch_events', {}, 3);
    const { contentType, text } = await metrics.page();
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE switchyard_tasks_ended_total counter\n');
    expect(text).toContain('switchyard_tasks_ended_total{state="failed"} 3\n');
    expect(text).toContain('switchyard_append_batch_events_bucket{le="2"} 0\n');
    expect(text).toContain('switchyard_append_batch_events_bucket{le="5"} 1\n');
    expect(text).toMatch(/^process_cpu_seconds_total \d/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m);
  });

  it('are those the table gives the process, and no other', async () => {
    for (const process of ['gateway', 'runtime'] as const) {
      const { text } = await new PromMetrics(process).page();
      const shown = [...text.matchAll(/^# HELP (switchyard_\w+) /gm)].map(([, name]) => name);
      const expected = Object.entries<MetricSpec>(METRICS).filter(([, { of }]) => of === process || of === 'both');
      expect(shown).toEqual(expected.map(([name]) => name));
    }
  });

  it('show what a gauge reads when somebody looks, and nothing where it cannot', async () => {
    const metrics = new PromMetrics('gateway');
    let depths: readonly (readonly [{ pool: string }, number])[] = [
      [{ pool: 'a' }, 1],
      [{ pool: 'b' }, 2],
    ];
    metrics.gauge('switchyard_queue_depth', async () => depths);
    metrics.gauge('switchyard_outbox_due', () => Promise.reject(new Error('no database')));
    expect(await valuesOf(metrics, 'switchyard_queue_depth')).toEqual([
      'switchyard_queue_depth{pool="a"} 1',
      'switchyard_queue_depth{pool="b"} 2',
    ]);
    depths = [[{ pool: 'b' }, 5]];
    expect(await valuesOf(metrics, 'switchyard_queue_depth')).toEqual(['switchyard_queue_depth{pool="b"} 5']);
    depths = [];
    expect(await valuesOf(metrics, 'switchyard_queue_depth')).toEqual([]);
  });
});
