export { BatchPace } from './batch-pace.js';
export { Batcher } from './batcher.js';
export { newArtifactId, newEventId, newMessageId, newTaskKey, newWaitId } from './ids.js';
export { PinoLogger } from './pino.logger.js';
export { anyText, integerFrom, oneOf, readSettings, SettingsError, urlOf } from './settings.js';
export type { Setting, SettingTable, SettingValues } from './settings.js';
export { stopSignal } from './stop-signal.js';
