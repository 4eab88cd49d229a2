export { encodeError } from './errors.js';
export { decodePage, encodePagination, offsetOf } from './pages.js';
export { decodeAnswer, decodeRequest } from './requests.js';
export type { RequestBody, StepAnswer } from './requests.js';
export { decodeCursor, encodeStepFrame } from './step-stream.js';
export { encodeStep, STEP_EVENTS, StepBook } from './steps.js';
export type { OpenWait, StepChange } from './steps.js';
export { ADDITIONAL_INPUT, encodeArtifact, encodeTask } from './tasks.js';
export type { Artifact, Pagination, Step, Task } from './wire.js';
