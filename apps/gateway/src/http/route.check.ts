import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { Scope } from '#lib/domain';
import { scopesOf } from './auth.guard.js';

type Controller = (new () => object) & { prototype: Record<string, () => unknown> };

/** Marks of @nestjs/swagger on what `/openapi.json` leaves out; its door does not name them. */
const HIDDEN = ['swagger/apiExcludeController', 'swagger/apiExcludeEndpoint'] as const;

/**
 * Refuses to boot with a route that says neither which scopes it needs nor that it is public, or that needs some and is
 * not in `/openapi.json`, from which it is tested who may use which.
 */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const routes = this.discovery.getControllers().flatMap(({ metatype }) => routesOf(metatype as Controller));
    const open = routes.filter((route) => this.scopes(route) === undefined);
    if (open.length > 0) throw new Error(`Routes without @Scopes() or @Public(): ${namesOf(open)}`);
    const hidden = routes.filter((route) => isHidden(route) && this.scopes(route)!.length > 0);
    if (hidden.length > 0) throw new Error(`Routes with @Scopes() that /openapi.json leaves out: ${namesOf(hidden)}`);
  }

  private scopes({ method, controller }: Route): readonly Scope[] | undefined {
    return scopesOf(this.reflector, method, controller);
  }
}

interface Route {
  readonly controller: Controller;
  readonly name: string;
  readonly method: () => unknown;
}

function routesOf(controller: Controller): readonly Route[] {
  return new MetadataScanner()
    .getAllMethodNames(controller.prototype)
    .map((name) => ({ controller, name, method: controller.prototype[name]! }))
    .filter(({ method }) => Reflect.hasMetadata(PATH_METADATA, method));
}

function isHidden({ controller, method }: Route): boolean {
  return [controller, method].some((target) => HIDDEN.some((mark) => Reflect.hasMetadata(mark, target)));
}

function namesOf(routes: readonly Route[]): string {
  return routes.map(({ controller, name }) => `${controller.name}.${name}`).join(', ');
}
