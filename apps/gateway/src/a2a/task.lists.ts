import type { ListTasksRequest, ListTasksResponse, Task } from '@a2a-js/sdk';
import { type Fault, faulty, type StateListFilter } from '#lib/domain';
import { tasksOfState } from '#lib/protocol/a2a';
import type { TasksService } from '../core/tasks.service.js';
import type { A2aOptions } from './a2a.options.js';
import type { A2aCall } from './calls.js';
import type { TaskReader } from './task.reader.js';

const PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

/** The tasks of an agent that a caller reaches (A2A 1.0, "List Tasks"). */
export class TaskLists {
  constructor(
    private readonly tasks: TasksService,
    private readonly reader: TaskReader,
    private readonly options: Pick<A2aOptions, 'confirmationState'>,
  ) {}

  /** @throws DomainError `invalid_request` */
  async list({ caller, agent }: A2aCall, request: ListTasksRequest): Promise<ListTasksResponse> {
    const { pageSize = PAGE_SIZE, pageToken, historyLength, includeArtifacts = false } = request;
    const filter = this.filterOf(agent.id, request);
    const page = { limit: pageSize, ...(pageToken === '' ? {} : { cursor: pageToken }) };
    const { items, nextCursor = '', total } = await this.tasks.listByState(caller, filter, page);
    const tasks: Task[] = [];
    // One after the other: a page is long, and the readers of logs are few.
    for (const item of items)
      tasks.push(await this.reader.read(item, { historyLength, hasArtifacts: includeArtifacts }));
    return { tasks, nextPageToken: nextCursor, pageSize, totalSize: total };
  }

  private filterOf(
    agentId: string,
    { status, contextId, statusTimestampAfter, pageSize }: ListTasksRequest,
  ): StateListFilter {
    const faults: Fault[] = [];
    const states = tasksOfState(status, this.options.confirmationState);
    if (!states) faults.push({ path: '/status', code: 'is_in', message: 'must be a state of tasks' });
    if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= MAX_PAGE_SIZE))
      faults.push({ path: '/pageSize', code: 'invalid', message: `must be 1 to ${MAX_PAGE_SIZE}` });
    const changedSinceMs = statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter);
    if (Number.isNaN(changedSinceMs))
      faults.push({ path: '/statusTimestampAfter', code: 'invalid', message: 'must be a moment as of RFC 3339' });
    if (faults.length > 0) throw faulty('invalid_request', faults);
    return { agentId, ...states, ...(contextId === '' ? {} : { sessionId: contextId }), changedSinceMs };
  }
}
