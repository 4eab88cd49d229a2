import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { AgUiOptions } from './ag-ui.options.js';

/** AG-UI, `/agui`. */
@Module({})
export class AgUiModule {
  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], _options: AgUiOptions): DynamicModule {
    return { module: AgUiModule, imports: modules };
  }
}
