/** Where a command writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether colours are understood. */
  readonly colours: boolean;
}

/** One command of the command line. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  readonly help: string;
  /** @returns the exit code. @throws UsageError when it cannot be done as it was asked */
  run(args: readonly string[], output: Output): Promise<number>;
}

/** What is wrong with how a command was called, or with a file it was given, in one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function isUsageError(error: unknown): error is UsageError {
  return error instanceof Error && error.name === 'UsageError';
}
