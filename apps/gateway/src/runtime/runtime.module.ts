import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { IntrospectionGuard } from './introspection.guard.js';
import { JwksController } from './jwks.controller.js';
import { RuntimeTokenController } from './runtime-token.controller.js';
import { RuntimeToolsController } from './runtime-tools.controller.js';
import { TaskTokenGuard } from './task-token.guard.js';

/** What runs and tool servers talk to: the keys of task tokens, and what a token opens. */
@Module({
  controllers: [JwksController, RuntimeTokenController, RuntimeToolsController],
  providers: [TaskTokenGuard, IntrospectionGuard],
})
export class RuntimeApiModule {
  /** `modules` offer the core services. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: RuntimeApiModule, imports: modules };
  }
}
