export { Batcher } from './batcher.js';
export { newArtifactId, newEventId, newTaskKey } from './ids.js';
export { PinoLogger } from './pino.logger.js';
