import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { ErrorWires } from '../http/error.wires.js';
import { AgentScopeCapabilitiesController } from './capabilities.controller.js';
import { AgentScopeEventsController } from './events.controller.js';
import { errorEncoder } from './error.mapping.js';
import type { AgentScopeOptions } from './agentscope.options.js';
import { AgentScopeSettings } from './agentscope.options.js';
import { AgentScopeArtifactsController } from './artifacts.controller.js';
import { AgentScopeTasksController } from './tasks.controller.js';

/** AgentScope's remote subagents, `/tasks`. */
@Module({
  controllers: [
    AgentScopeTasksController,
    AgentScopeEventsController,
    AgentScopeArtifactsController,
    AgentScopeCapabilitiesController,
  ],
})
export class AgentScopeModule {
  constructor(wires: ErrorWires, { options }: AgentScopeSettings) {
    for (const prefix of ['/tasks', '/agents']) wires.add(prefix, errorEncoder(options));
  }

  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], options: AgentScopeOptions): DynamicModule {
    return {
      module: AgentScopeModule,
      imports: modules,
      providers: [{ provide: AgentScopeSettings, useValue: new AgentScopeSettings(options) }],
    };
  }
}
