import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { JwksController } from './jwks.controller.js';

/** What runs and tool servers talk to: the keys of task tokens, and what a token opens. */
@Module({ controllers: [JwksController] })
export class RuntimeApiModule {
  /** `modules` offer the core services. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: RuntimeApiModule, imports: modules };
  }
}
