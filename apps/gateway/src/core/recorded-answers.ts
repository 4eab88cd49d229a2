import type { AnswerRequest } from '#lib/domain';
import { digestValue } from '#lib/platform';

type Decisions = readonly Readonly<Record<string, unknown>>[];

/** True when what `task.resumed` records is this answer: results and decisions of the same items say the same. */
export function isRecorded(recorded: Decisions, { decisions, results }: AnswerRequest): boolean {
  const says = (id: string, name: string, value: unknown): boolean => {
    const item = recorded.find(({ tool_call_id }) => tool_call_id === id);
    if (!item) return false;
    // What was too long for the event stands in it by its digest.
    const digests = item['digests'] as Readonly<Record<string, unknown>> | undefined;
    // The answer to the only question is told as `input`.
    const told = item[name] ?? item['input'] ?? null;
    const digest = digests && name in digests ? digests[name] : digestValue(told);
    return digest === digestValue(value ?? null);
  };
  return (
    results.every(({ tool_call_id, output }) => says(tool_call_id, 'output', output)) &&
    decisions.every(({ tool_call_id, approved }) => says(tool_call_id, 'approved', approved === true))
  );
}
