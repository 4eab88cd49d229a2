import type { ModelMessage } from 'ai';

/** A conversation within its bound, and how many turns that cost. */
export interface Trimmed {
  readonly messages: readonly ModelMessage[];
  readonly turns: number;
}

/**
 * Leaves out the oldest turns of the model, each with the results of its calls, until at most `limit` characters of JSON
 * are left. What the user asked stays, and so does the last turn: calls in it may still wait for an answer.
 */
export function trim(messages: readonly ModelMessage[], limit: number): Trimmed {
  const sizes = messages.map((message) => JSON.stringify(message).length);
  const starts = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
  const left = new Set<number>();
  let size = sizes.reduce((sum, one) => sum + one, 0);
  let turns = 0;
  while (size > limit && turns < starts.length - 1) {
    for (let at = starts[turns]!; at < starts[turns + 1]!; at += 1) {
      if (messages[at]!.role === 'user') continue;
      left.add(at);
      size -= sizes[at]!;
    }
    turns += 1;
  }
  return { messages: turns === 0 ? messages : messages.filter((_, at) => !left.has(at)), turns };
}
