export type {
  InputFile,
  RunContext,
  RunnerAdapter,
  RunnerAnswer,
  RunnerEvent,
  RunnerEventType,
  RunnerItem,
  ToolClient,
  ToolDescription,
} from './runner.js';
export type { RunnerCapabilities, RunnerDescriptor } from './descriptor.js';
export type { AdapterEnvironment, AdapterFactory, ModelEndpoint, RegisteredAdapter } from './environment.js';
export { AdapterError, BudgetError, isAdapterError } from './errors.js';
export { ToolError } from '#lib/domain';
export type { AdapterErrorDetails, AdapterErrorKind, Effects } from './errors.js';
export { textInputOf } from './text-input.js';
