import { isDomainError, redactSecrets } from '#lib/domain';
import { PinoLogger, SettingsError, stopSignal } from '#lib/platform';
import { readConfig } from './config.js';
import { AgentsFileError } from './core/agents-file.js';
import { IssuersFileError } from './core/issuers-file.js';
import { LimitsFileError } from './core/limits-file.js';
import { startGateway } from './gateway.js';

async function main(): Promise<void> {
  const signal = stopSignal();
  const config = readConfig();
  const logger = PinoLogger.create({ level: config.logLevel, fields: { service: 'gateway', pid: process.pid } });
  const gateway = await startGateway(config, logger);
  const cause = await signal;
  logger.info('the gateway stops', { cause });
  await gateway.stop();
  logger.info('the gateway has stopped');
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${redactSecrets(explain(error))}\n`);
    process.exit(1);
  },
);

/** One line for the person who started this, where the fault is theirs to mend; else all there is. */
function explain(error: unknown): string {
  if (error instanceof AgentsFileError) return `AGENTS_FILE: ${error.message}.`;
  if (error instanceof IssuersFileError) return `ISSUERS_FILE: ${error.message}.`;
  if (error instanceof LimitsFileError) return `LIMITS_FILE: ${error.message}.`;
  if (isDomainError(error) || error instanceof SettingsError) return error.message;
  const { code, message, stack } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') return `HOST and PORT: ${message}.`;
  return `The gateway could not start: ${stack ?? message}`;
}
