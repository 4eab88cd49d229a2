import { filePartsOf } from '#lib/domain';
import { AdapterError } from './errors.js';
import type { RunContext } from './runner.js';

/**
 * The input for a runner that reads text and data only.
 * @throws AdapterError `rejected` for a part it would have to leave out: nothing a caller sent is passed over in silence.
 */
export function textInputOf({ input, readableInput = input }: Pick<RunContext, 'input' | 'readableInput'>): unknown {
  const [unread] = filePartsOf(readableInput);
  if (!unread) return readableInput;
  const message = `Part ${unread.index} of the input (${unread.part.type}) cannot be read as text.`;
  throw new AdapterError('rejected', message, { effects: 'none' });
}
