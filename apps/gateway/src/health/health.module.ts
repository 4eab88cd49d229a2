import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { HealthController } from './health.controller.js';

@Module({ controllers: [HealthController] })
export class HealthModule {
  /** `modules` offer `Readiness`. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: HealthModule, imports: modules };
  }
}
