import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from './audit/audit.module.js';
import { CoreModule, type CorePorts } from './core/core.module.js';
import { HealthModule } from './health/health.module.js';
import { HttpModule } from './http/http.module.js';
import { NativeModule } from './native/native.module.js';
import { RuntimeApiModule } from './runtime/runtime.module.js';

/** One gateway process: the core, the edge, and every surface. */
@Module({})
export class GatewayModule {
  static over(ports: CorePorts): DynamicModule {
    const core = CoreModule.over(ports);
    const http = HttpModule.over([core]);
    const surfaces = [
      HealthModule.over([core]),
      NativeModule.over([core, http]),
      AuditModule.over([core]),
      RuntimeApiModule.over([core]),
    ];
    return { module: GatewayModule, imports: [core, http, ...surfaces] };
  }
}
