export { encodeError, STREAMING_OFF } from './errors.js';
export type { TaskPlace } from './errors.js';
export { TaskEventEncoder } from './event.encoder.js';
export { encodeRemoteFrame } from './remote-event.js';
export { decideAll, decodeResume } from './resume.js';
export { encodeOutcome, encodeSnapshot, encodeTimeout } from './snapshot.js';
export type { ShownTask, TaskOutcome, TaskSnapshotAnswer } from './snapshot.js';
export { decodeSubmit } from './submit.js';
export type { RemoteSubmit } from './submit.js';
