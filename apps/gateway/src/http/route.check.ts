import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { scopesOf } from './auth.guard.js';

type Controller = (new () => object) & { prototype: Record<string, () => unknown> };

/** Refuses to boot with a route that says neither which scopes it needs nor that it is public. */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const open = this.discovery.getControllers().flatMap(({ metatype }) => this.undeclared(metatype as Controller));
    if (open.length > 0) throw new Error(`Routes without @Scopes() or @Public(): ${open.join(', ')}`);
  }

  private undeclared(controller: Controller): string[] {
    return new MetadataScanner()
      .getAllMethodNames(controller.prototype)
      .map((name) => ({ name, method: controller.prototype[name]! }))
      .filter(({ method }) => Reflect.hasMetadata(PATH_METADATA, method))
      .filter(({ method }) => scopesOf(this.reflector, method, controller) === undefined)
      .map(({ name }) => `${controller.name}.${name}`);
  }
}
