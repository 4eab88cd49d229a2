import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { A2aOptions } from './a2a.options.js';

/** A2A 1.0 and 0.3, `/a2a`. */
@Module({})
export class A2aModule {
  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], _options: A2aOptions): DynamicModule {
    return { module: A2aModule, imports: modules };
  }
}
