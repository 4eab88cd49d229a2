import { encodeError, type TaskPlace } from '#lib/protocol/agentscope';
import { pathOf } from '../http/denial.js';
import type { ErrorEncoder } from '../http/error.wires.js';
import type { AgentScopeOptions } from './agentscope.options.js';

const TASK_PATH = /^\/tasks\/([^/]+)(?:\/([a-z]+))?$/;

/** Whatever goes wrong under these paths, in AgentScope's words. */
export function errorEncoder(options: AgentScopeOptions): ErrorEncoder {
  return (error, request) => {
    const { status, body } = encodeError(error, placeOf(pathOf(request)), options);
    return { status, type: 'application/json', body: body === undefined ? '' : JSON.stringify(body) };
  };
}

function placeOf(path: string): TaskPlace | undefined {
  const [, taskId, operation] = TASK_PATH.exec(path) ?? [];
  return taskId === undefined ? undefined : { taskId: decode(taskId), operation };
}

/** What cannot be decoded is shown as it came. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
