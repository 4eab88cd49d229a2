export { createMessaging } from './messaging.js';
export type { Messaging, MessagingConfig } from './messaging.js';
export { JOBS } from './jobs.js';
export { migrateQueue, QUEUE_SCHEMA } from './migrate.js';
