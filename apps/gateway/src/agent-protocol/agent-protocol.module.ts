import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { AgentProtocolOptions } from './agent-protocol.options.js';

/** Agent Protocol v1, and step-stream v1 on the same paths, `/ap/v1`. */
@Module({})
export class AgentProtocolModule {
  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], _options: AgentProtocolOptions): DynamicModule {
    return { module: AgentProtocolModule, imports: modules };
  }
}
