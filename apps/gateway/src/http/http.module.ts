import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, DiscoveryModule, Reflector } from '@nestjs/core';
import { AuditTrail, Logger } from '#lib/domain';
import { Authenticator } from '../core/authenticator.js';
import { Quotas } from '../core/quotas.js';
import { AuthGuard } from './auth.guard.js';
import { DocsController } from './docs.controller.js';
import { ErrorFilter } from './error.filter.js';
import { ErrorWires } from './error.wires.js';
import { ApiDescription } from './openapi.js';
import { RouteCheck } from './route.check.js';
import { EventStreams } from './sse.js';

/** Without them nothing is limited. */
const QUOTAS = { token: Quotas, optional: true };

/** What every surface shares: authentication, errors, streams, and the check that no route is open by mistake. */
@Module({ controllers: [DocsController] })
export class HttpModule {
  /** `core` are the modules that offer `Authenticator`, `AuditTrail`, `Logger` and `Quotas`. */
  static over(core: ModuleMetadata['imports']): DynamicModule {
    return {
      module: HttpModule,
      imports: [DiscoveryModule, ...(core ?? [])],
      providers: [
        RouteCheck,
        { provide: ApiDescription, useFactory: () => new ApiDescription() },
        { provide: ErrorWires, useFactory: () => new ErrorWires() },
        {
          provide: EventStreams,
          useFactory: (logger: Logger, authenticator: Authenticator, quotas?: Quotas) =>
            new EventStreams(logger, quotas, authenticator),
          inject: [Logger, Authenticator, QUOTAS],
        },
        {
          provide: APP_FILTER,
          useFactory: (logger: Logger, audit: AuditTrail, wires: ErrorWires) => new ErrorFilter(logger, audit, wires),
          inject: [Logger, AuditTrail, ErrorWires],
        },
        {
          provide: APP_GUARD,
          useFactory: (reflector: Reflector, authenticator: Authenticator, quotas?: Quotas) =>
            new AuthGuard(reflector, authenticator, quotas),
          inject: [Reflector, Authenticator, QUOTAS],
        },
      ],
      exports: [ErrorWires, EventStreams],
    };
  }
}
