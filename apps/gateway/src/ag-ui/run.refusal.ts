import { isDomainError } from '#lib/domain';
import { AGUI_ERRORS, type RunErrorCode } from '#lib/protocol/ag-ui';

/** A run that cannot be: its consumer is told in a stream, as of any run that fails. */
export class RunRefusal extends Error {
  override readonly name = 'RunRefusal';

  constructor(
    readonly code: RunErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** The refusal of a run that an error comes to; undefined when the request is what is wrong, and is answered by a status. */
export function refusalOf(error: unknown): RunRefusal | undefined {
  if (error instanceof RunRefusal) return error;
  if (!isDomainError(error)) return undefined;
  const code = AGUI_ERRORS[error.code].run ?? (isOfInput(error.faults) ? 'INVALID_INPUT_ERROR' : undefined);
  return code === undefined ? undefined : new RunRefusal(code, messageOf(error));
}

/** Parts and tools are checked where every surface's are, which is after the body was found to be a run's. */
function isOfInput(faults: readonly { readonly path: string }[]): boolean {
  return faults.some(({ path }) => /^\/(input|tools)(\/|$)/.test(path));
}

/** In words of this wire: a consumer knows no `/input`, and is told nothing of where parts come from. */
function messageOf({
  message,
  faults,
}: {
  readonly message: string;
  readonly faults: readonly { path: string; message: string }[];
}): string {
  const [first] = faults;
  if (first === undefined) return message;
  return first.path.startsWith('/input') ? `/messages: a part ${first.message}.` : message;
}
