import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { AgentScopeOptions } from './agentscope.options.js';

/** AgentScope's remote subagents, `/tasks`. */
@Module({})
export class AgentScopeModule {
  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], _options: AgentScopeOptions): DynamicModule {
    return { module: AgentScopeModule, imports: modules };
  }
}
