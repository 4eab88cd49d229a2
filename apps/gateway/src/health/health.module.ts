import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [HealthController, MetricsController] })
export class HealthModule {
  /** `modules` offer `Readiness` and `PromMetrics`. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: HealthModule, imports: modules };
  }
}
