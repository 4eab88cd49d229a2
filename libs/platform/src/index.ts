export { Batcher } from './batcher.js';
export { newArtifactId, newEventId, newMessageId, newTaskKey, newWaitId } from './ids.js';
export { PinoLogger } from './pino.logger.js';
