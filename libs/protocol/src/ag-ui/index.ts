export { profileOf } from './contract.js';
export type {
  AgUiConverter,
  AgUiEnricher,
  AgUiEvent,
  AgUiExtensions,
  Profile,
  RunView,
  ViewOptions,
} from './contract.js';
export { AGUI_ERRORS, RUN_TIMEOUT } from './errors.js';
export type { RunErrorCode } from './errors.js';
export { newMessages, readRunInput, toolResults, userMessages } from './input.js';
export type { NewMessages, ReadInput } from './input.js';
export { decodeResume, isInterrupt } from './interrupts.js';
export { emptyRun, refusedRun, RunMapper } from './run.mapper.js';
