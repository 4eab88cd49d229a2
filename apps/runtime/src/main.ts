import 'reflect-metadata';
import { redactSecrets } from '#lib/domain';
import { PinoLogger, stopSignal } from '#lib/platform';
import { NestFactory } from '@nestjs/core';
import { readConfig } from './config.js';
import { RuntimeLifecycle } from './runtime.lifecycle.js';
import { RuntimeModule } from './runtime.module.js';

/** What an orderly end may take beside the drain. */
const STOP_MS = 15_000;

async function main(): Promise<void> {
  const stopped = stopSignal();
  const config = readConfig();
  const logger = PinoLogger.create({
    level: config.logLevel,
    fields: { service: 'runtime', runtimeId: config.runtimeId },
  });
  const app = await NestFactory.create(RuntimeModule.create(config, logger), { logger: false, abortOnError: false });
  if (config.healthPort === undefined) await app.init();
  else await app.listen(config.healthPort, config.host);
  const lifecycle = app.get(RuntimeLifecycle);
  await lifecycle.start();
  const reason = await Promise.race([stopped, lifecycle.broken]);
  if (typeof reason !== 'string') throw reason;
  logger.info('the runtime stops', { reason });
  // Without the database nothing can be handed over, and its absence must not hold up the end.
  setTimeout(() => process.exit(1), config.drainMs + STOP_MS).unref();
  await lifecycle.stop();
  await app.close();
  logger.info('the runtime has stopped');
}

main().catch((error: unknown) => {
  process.stderr.write(`${redactSecrets((error as Error).message)}\n`);
  // Leases may not be kept any more and connections may hang: whatever runs here is for others to take over.
  process.exit(1);
});
