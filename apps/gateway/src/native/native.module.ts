import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { AgentsController } from './agents.controller.js';
import { ArtifactsController } from './artifacts.controller.js';
import { CancelController } from './cancel.controller.js';
import { DeliveriesController } from './deliveries.controller.js';
import { EventsController } from './events.controller.js';
import { KeysController } from './keys.controller.js';
import { ResumeController } from './resume.controller.js';
import { StartController } from './start.controller.js';
import { SubmitController } from './submit.controller.js';
import { TasksController } from './tasks.controller.js';
import { ToolsController } from './tools.controller.js';
import { UploadsController } from './uploads.controller.js';
import { WebhooksController } from './webhooks.controller.js';

/** Our own contract, `/v1`. */
@Module({
  controllers: [
    SubmitController,
    TasksController,
    CancelController,
    StartController,
    ResumeController,
    EventsController,
    ArtifactsController,
    UploadsController,
    AgentsController,
    WebhooksController,
    DeliveriesController,
    ToolsController,
    KeysController,
  ],
})
export class NativeModule {
  /** `modules` offer the core services and the streams of `http`. */
  static over(modules: ModuleMetadata['imports']): DynamicModule {
    return { module: NativeModule, imports: modules };
  }
}
