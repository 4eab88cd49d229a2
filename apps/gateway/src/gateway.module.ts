import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from './audit/audit.module.js';
import { CoreModule, type CorePorts } from './core/core.module.js';
import { HealthModule } from './health/health.module.js';
import { HttpModule } from './http/http.module.js';
import { NativeModule } from './native/native.module.js';
import { AgentScopeModule } from './agentscope/agentscope.module.js';
import { AgentProtocolModule } from './agent-protocol/agent-protocol.module.js';
import { A2aModule } from './a2a/a2a.module.js';
import { createPushEncoder } from './a2a/push.encoder.js';
import { AgUiModule } from './ag-ui/ag-ui.module.js';
import { ChatModule } from './chat/chat.module.js';
import type { ProtocolOptions } from './protocol.settings.js';
import { RuntimeApiModule } from './runtime/runtime.module.js';

/** One gateway process: the core, the edge, and every surface. */
@Module({})
export class GatewayModule {
  static over(ports: Omit<CorePorts, 'pushes'>, protocols: ProtocolOptions): DynamicModule {
    const pushes: CorePorts['pushes'] = (urlOf) => createPushEncoder(protocols.a2a, urlOf);
    const core = CoreModule.over({ ...ports, pushes });
    const http = HttpModule.over([core]);
    const surfaces = [
      HealthModule.over([core]),
      NativeModule.over([core, http]),
      AuditModule.over([core]),
      RuntimeApiModule.over([core]),
      ...foreignSurfaces([core, http], protocols),
    ];
    return { module: GatewayModule, imports: [core, http, ...surfaces] };
  }
}

/** The protocols of others that are switched on. */
function foreignSurfaces(modules: DynamicModule[], options: ProtocolOptions): DynamicModule[] {
  const { agentScope, agentProtocol, a2a, agUi, chat } = options;
  return [
    ...(agentScope.isEnabled ? [AgentScopeModule.over(modules, agentScope)] : []),
    ...(agentProtocol.isEnabled ? [AgentProtocolModule.over(modules, agentProtocol)] : []),
    ...(a2a.isEnabled ? [A2aModule.over(modules, a2a)] : []),
    ...(agUi.isEnabled ? [AgUiModule.over(modules, agUi)] : []),
    ...(chat.isEnabled ? [ChatModule.over(modules, chat)] : []),
  ];
}
