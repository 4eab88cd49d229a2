import type { TaskSnapshot } from '#lib/domain';
import type { Step } from '#lib/protocol/agent-protocol';
import type { ResultsService } from '../core/results.service.js';

/** The step with the whole of a result whose beginning only is in the log, for the last step. */
export async function withWholeOutput(
  results: Pick<ResultsService, 'textOf'>,
  task: TaskSnapshot,
  step: Step,
): Promise<Step> {
  const metadata = step.is_last ? step.additional_output?.['metadata'] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('artifact' in metadata)) return step;
  const result = { text: step.output ?? '', metadata: metadata as Readonly<Record<string, unknown>> };
  return { ...step, output: await results.textOf({ ...task, result }) };
}
