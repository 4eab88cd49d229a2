import type { RunnerDescriptor } from './descriptor.js';
import type { RunnerAdapter } from './runner.js';

/** An OpenAI-compatible endpoint, from MODEL_BASE_URL, MODEL_API_KEY and MODEL_NAME. */
export interface ModelEndpoint {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly name: string;
}

/** What a runtime hands to each adapter it hosts, once, when it is made. */
export interface AdapterEnvironment {
  /** Absent: the bundled deterministic local model is used. */
  readonly model?: ModelEndpoint;
  /** Connection string of the database, for adapters that keep a checkpointer of their own. */
  readonly databaseUrl: string;
  /** From SITE_BUILDER_EXECUTE: code written by a model may be run. */
  readonly executeModelCode: boolean;
}

/** Makes the adapter of one kind. */
export type AdapterFactory = (environment: AdapterEnvironment) => RunnerAdapter | Promise<RunnerAdapter>;

/** A runner kind as a runtime hosts it; what the registry lists. */
export interface RegisteredAdapter {
  readonly descriptor: RunnerDescriptor;
  readonly create: AdapterFactory;
}
