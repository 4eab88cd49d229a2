import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { ChatOptions } from './chat.options.js';

/** OpenAI Chat Completions, `/v1/chat/completions` and `/v1/models`. */
@Module({})
export class ChatModule {
  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], _options: ChatOptions): DynamicModule {
    return { module: ChatModule, imports: modules };
  }
}
