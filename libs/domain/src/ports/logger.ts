/** Data of a line; an error goes under `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** JSON lines: a constant message, data as fields. */
export abstract class Logger {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(message: string, fields?: LogFields): void;
  abstract warn(message: string, fields?: LogFields): void;
  abstract error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  abstract child(fields: LogFields): Logger;
}
