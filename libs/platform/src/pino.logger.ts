import { type LogFields, Logger, redactSecrets } from '#lib/domain';
import pino, { type Logger as Pino } from 'pino';

/** Names of fields whose values never reach a log line. */
const SECRET_FIELDS = ['authorization', 'cookie', 'key', 'secret', 'token', 'password', 'apiKey', 'url', 'databaseUrl'];

export interface PinoOptions {
  readonly level: string;
  readonly fields: LogFields;
  /** Absent: standard output. */
  readonly destination?: { write(line: string): void };
}

/** The logger of the processes: pino, JSON lines on standard output. */
export class PinoLogger extends Logger {
  private constructor(private readonly pino: Pino) {
    super();
  }

  static create(options: PinoOptions): PinoLogger {
    const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]);
    return new PinoLogger(
      pino(
        {
          level: options.level,
          base: options.fields,
          redact,
          // Whatever a line is made of, an error of a driver or a text from outside: what looks like a secret does not leave.
          hooks: { streamWrite: redactSecrets },
          serializers: { error: encodeError },
          timestamp: pino.stdTimeFunctions.isoTime,
        },
        options.destination,
      ),
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

/** What an error says of itself and its causes; drivers hang whole rows and commands on theirs, which are left out. */
function encodeError(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('message' in error)) return error;
  const { name, code, message, stack, cause } = error as Error & { code?: unknown };
  return { type: name, code, message, stack, ...(cause === undefined ? {} : { cause: encodeError(cause) }) };
}
