import { statusOf } from '#lib/domain';
import type { Resumed, ResumeRequest } from '../core/answers.service.js';
import type { ResumeAnswer, ResumeBody } from './resume.dto.js';
import { linksOf } from './submit.mapping.js';

/** `edited_args` and `output` are handed on as they were read. */
export function decodeResume(body: ResumeBody, requestId: string): ResumeRequest {
  const { wait_id, decisions, input, results } = body;
  return {
    waitId: wait_id ?? undefined,
    answer: { decisions: decisions ?? [], results: results ?? [], input: input ?? undefined },
    requestId,
  };
}

export function encodeResumed({ taskId, state, runNo }: Resumed): ResumeAnswer {
  return { task_id: taskId, status: statusOf(state), state, run_no: runNo, links: linksOf(taskId) };
}
