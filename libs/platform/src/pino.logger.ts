import { type LogFields, Logger } from '#lib/domain';
import pino, { type Logger as Pino } from 'pino';

/** Names of fields whose values never reach a log line. */
const SECRET_FIELDS = ['authorization', 'key', 'secret', 'token', 'password', 'apiKey', 'url'];

/** The logger of the processes: pino, JSON lines on standard output. */
export class PinoLogger extends Logger {
  private constructor(private readonly pino: Pino) {
    super();
  }

  static create(options: { readonly level: string; readonly fields: LogFields }): PinoLogger {
    const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]);
    return new PinoLogger(
      pino({ level: options.level, base: options.fields, redact, timestamp: pino.stdTimeFunctions.isoTime }),
    );
  }

  override debug(message: string, fields: LogFields = {}): void {
    this.pino.debug(fields, message);
  }

  override info(message: string, fields: LogFields = {}): void {
    this.pino.info(fields, message);
  }

  override warn(message: string, fields: LogFields = {}): void {
    this.pino.warn(fields, message);
  }

  override error(message: string, fields: LogFields = {}): void {
    this.pino.error(fields, message);
  }

  override child(fields: LogFields): Logger {
    return new PinoLogger(this.pino.child(fields));
  }
}
