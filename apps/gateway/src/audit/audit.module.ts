import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { AuditController } from './audit.controller.js';

/** The audit trail, `/v1/audit`. */
@Module({ controllers: [AuditController] })
export class AuditModule {
  /** `modules` offer the core services. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: AuditModule, imports: modules };
  }
}
