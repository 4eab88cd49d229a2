import { Metrics } from '#lib/domain';

/** Keeps what it was told, in order. */
export class RecordingMetrics extends Metrics {
  readonly counted: [name: string, labels: object, by: number][] = [];
  readonly observed: [name: string, labels: object, value: number][] = [];

  override count(name: string, labels: object, by = 1): void {
    this.counted.push([name, labels, by]);
  }

  override observe(name: string, labels: object, value: number): void {
    this.observed.push([name, labels, value]);
  }

  override gauge(): void {}
}
