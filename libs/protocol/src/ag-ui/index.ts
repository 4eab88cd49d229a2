export { profileOf } from './contract.js';
export type {
  AgUiConverter,
  AgUiEnricher,
  AgUiEvent,
  AgUiExtensions,
  LogEvent,
  Profile,
  RunView,
  ViewOptions,
} from './contract.js';
export { AGUI_ERRORS, RUN_TIMEOUT, runCodeOfFailure } from './errors.js';
export type { AgUiError, RunErrorCode } from './errors.js';
export { newMessages, readRunInput, toolResults, userMessages } from './input.js';
export type { NewMessages, ReadInput } from './input.js';
export { decodeResume, encodeInterrupt, interruptIdOf, isInterrupt } from './interrupts.js';
export type { OpenItem, Resumption } from './interrupts.js';
export { Lifecycle } from './lifecycle.js';
export { emptyRun, refusedRun, RunMapper } from './run.mapper.js';
