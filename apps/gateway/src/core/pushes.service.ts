import {
  DomainError,
  faulty,
  type Fault,
  type PushConfig,
  type PushConfigStore,
  type PushCredentials,
  type TaskSnapshot,
} from '#lib/domain';
import { auditOf, type Caller } from './caller.js';
import type { CallbacksService } from './callbacks.service.js';
import { secretOfPush, type WebhookSigning } from './delivery.sender.js';
import type { DestinationCheck } from './destination.check.js';

/** Who is to be told of every change of a task, and how. */
export interface PushRequest extends PushCredentials {
  /** Unique in its task; one of the same id is replaced. */
  readonly id: string;
  readonly url: string;
  readonly format: string;
}

/** A config as its task's callers see it; what it sends along is shown to who made it only. */
export interface ShownPush extends PushCredentials {
  readonly id: string;
  readonly url: string;
}

export interface PushPorts {
  readonly pushConfigs: PushConfigStore;
  readonly signing: WebhookSigning;
}

type Task = Pick<TaskSnapshot, 'taskKey' | 'taskId' | 'tenant' | 'createdBy'>;

const MAX_PER_TASK = 10;
/** One header field each: nothing in it may end the field. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,2046}[\x21-\x7e])?$/;
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,50}$/;
const ID = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** Those who are told of every change of one task: set by whoever reaches the task, gone with it. */
export class PushesService {
  constructor(
    private readonly ports: PushPorts,
    private readonly destinations: DestinationCheck,
    private readonly callbacks: CallbacksService,
  ) {}

  /** Whether such a config can be made. @throws DomainError `invalid_request` with paths below `path` */
  async assertAllowed({ id, url, token, scheme, credentials }: PushRequest, path = ''): Promise<void> {
    const faults: Fault[] = [];
    const check = (name: string, value: string | undefined, form: RegExp): void => {
      if (value !== undefined && !form.test(value))
        faults.push({ path: `${path}/${name}`, code: 'invalid', message: 'cannot be sent in a header field' });
    };
    check('token', token, VALUE);
    check('authentication/scheme', scheme, SCHEME);
    check('authentication/credentials', credentials, VALUE);
    if (!ID.test(id)) faults.push({ path: `${path}/id`, code: 'invalid', message: 'must be 1 to 255 characters' });
    if (faults.length > 0) throw faulty('invalid_request', faults);
    await this.destinations.assertAllowed(url, `${path}/url`);
  }

  /** `isFromStart`: it came with the task, and is told what has happened since. @throws DomainError `invalid_request` */
  async put(
    caller: Caller,
    task: Task,
    request: PushRequest,
    { requestId, isFromStart = false }: { readonly requestId: string; readonly isFromStart?: boolean },
  ): Promise<ShownPush> {
    await this.assertAllowed(request);
    const { taskKey, tenant, createdBy } = task;
    await this.callbacks.ensureSecret({ tenant, principal: createdBy });
    const { id, url, format, ...said } = request;
    const isSilent = Object.values(said).every((value) => value === undefined);
    const config: PushConfig = {
      taskKey,
      id,
      tenant,
      principal: caller.principal,
      url,
      credentials: isSilent ? null : this.ports.signing.seal(JSON.stringify(said), secretOfPush(tenant, taskKey, id)),
      format,
    };
    const details = { config: id, origin: new URL(url).origin };
    const audit = auditOf(caller, { action: 'push_config.create', target: task.taskId, details, requestId });
    if (await this.ports.pushConfigs.put(config, { isFromStart, maxPerTask: MAX_PER_TASK, audit }))
      return { id, url, ...said };
    throw new DomainError('invalid_request', `A task has at most ${MAX_PER_TASK} of them.`);
  }

  async list(caller: Caller, { taskKey }: Task): Promise<readonly ShownPush[]> {
    const configs = await this.ports.pushConfigs.list(taskKey);
    return configs.map((config) => this.show(caller, config));
  }

  async get(caller: Caller, task: Task, id: string): Promise<ShownPush> {
    const found = (await this.list(caller, task)).find((config) => config.id === id);
    if (!found) throw new DomainError('not_found', 'There is no such config.');
    return found;
  }

  /** Of no effect where there is none. */
  async remove(caller: Caller, { taskKey, taskId }: Task, id: string, requestId: string): Promise<void> {
    const audit = auditOf(caller, { action: 'push_config.delete', target: taskId, details: { config: id }, requestId });
    await this.ports.pushConfigs.remove(taskKey, id, audit);
  }

  private show(
    { principal }: Caller,
    { id, url, tenant, taskKey, principal: owner, credentials }: PushConfig,
  ): ShownPush {
    if (credentials === null || owner !== principal) return { id, url };
    const said = JSON.parse(this.ports.signing.open(credentials, secretOfPush(tenant, taskKey, id))) as PushCredentials;
    return { id, url, ...said };
  }
}
