import { type LogFields, Logger } from '#lib/domain';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** Writes nothing and keeps every line. */
export class SilentLogger extends Logger {
  constructor(
    readonly lines: LogLine[] = [],
    private readonly fields: LogFields = {},
  ) {
    super();
  }

  override debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields: { ...this.fields, ...fields } });
  }

  override info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields: { ...this.fields, ...fields } });
  }

  override warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields: { ...this.fields, ...fields } });
  }

  override error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields: { ...this.fields, ...fields } });
  }

  override child(fields: LogFields): Logger {
    return new SilentLogger(this.lines, { ...this.fields, ...fields });
  }
}
