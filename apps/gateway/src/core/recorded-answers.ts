import { type AnswerRequest, decideAnswer, type ItemAnswer, type PendingItem } from '#lib/domain';
import { digestValue } from '#lib/platform';

type Recorded = Readonly<Record<string, unknown>>;

/** What an answer does. In which words it was denied makes no other answer of it. */
const MEMBERS = [
  'approved',
  'edited_args',
  'input',
  'output',
  'error',
] as const satisfies readonly (keyof ItemAnswer)[];

/**
 * True when what was recorded of the answer to these items is this answer: for callers who repeat theirs.
 * @throws DomainError as for an answer that is taken in
 */
export function isRecorded(
  recorded: readonly Recorded[],
  pending: readonly PendingItem[],
  answer: AnswerRequest,
): boolean {
  const known = new Map(recorded.map((item) => [item['tool_call_id'], item]));
  return decideAnswer(pending, answer, () => []).every((item) => {
    const same = known.get(item.tool_call_id);
    return same !== undefined && MEMBERS.every((name) => digestOf(same, name) === digestValue(item[name] ?? null));
  });
}

/** What was too long for the event stands in it by its digest. */
function digestOf(recorded: Recorded, name: string): unknown {
  const digests = recorded['digests'] as Recorded | undefined;
  return digests?.[name] ?? digestValue(recorded[name] ?? null);
}
