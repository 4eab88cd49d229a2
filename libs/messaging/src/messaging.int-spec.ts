import { afterAll, beforeAll } from '@jest/globals';
import { describeEachBackingSet } from '../../../test/support/backing-sets.js';
import { describeEventBus } from '../../../test/support/bus.conformance.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { describeDeliveryQueue, describeRunQueue } from '../../../test/support/queue.conformance.js';
import { createRedisPrefix } from '../../../test/support/redis.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { createMessaging, type Messaging, migrateQueue } from './index.js';

describeEachBackingSet((set) => {
  const installation = createRedisPrefix();
  let database: TestDatabase;
  const open = (): Promise<Messaging> =>
    createMessaging({ databaseUrl: database.url, redisUrl: set.redisUrl, installation, logger: new SilentLogger() });

  beforeAll(async () => {
    database = await createDatabase({ empty: true });
    await migrateQueue(database.url);
  });
  afterAll(() => database.drop());

  describeRunQueue(open);
  describeDeliveryQueue(open);
  describeEventBus(open, { frames: set.name === 'redis' });
});
