import {
  type AgentDeclaration,
  type AgentRecord,
  type AgentStore,
  applyMergePatch,
  canonicalJson,
  clashesOf,
  DomainError,
  type Fault,
  pointerTo,
  type StoredAgent,
} from '#lib/domain';
import { createHash } from 'node:crypto';
import { declarationFaults, decodeAgent, type RunnerKind } from './agent.declaration.js';
import { type AgentDirectory, recordOf } from './agent.directory.js';
import { AGENT_FIELDS, type AgentSource } from './agent.schema.js';
import { auditOf, type Caller } from './caller.js';

/** What a caller expects of the agent it changes; nothing: any state is fine. */
export interface Expectation {
  /** `*`: that there is one; else that its version is one of these. */
  readonly ifMatch?: '*' | readonly number[];
  /** `*`: that there is none; else that its version is none of these. */
  readonly ifNoneMatch?: '*' | readonly number[];
}

export interface EditRequest {
  readonly agentId: string;
  /** A declaration, or the merge patch of one, as it came: nothing of it is trusted. */
  readonly body: unknown;
  readonly expects: Expectation;
  readonly requestId: string;
}

/** `isNew`: there was no such agent before. */
export interface Edited {
  readonly agent: AgentRecord;
  readonly isNew: boolean;
}

type Source = StoredAgent['source'];

/** More faults than this say nothing new and may be as long as the body. */
const MAX_FAULTS = 20;

/**
 * Agents as operators change them. A change is checked like the file, recorded, and known to this process when the call
 * returns, to the others at the notice. DomainError `invalid_request` names every fault by its path in the declaration.
 */
export class AgentEditsService {
  constructor(
    private readonly store: AgentStore,
    private readonly directory: AgentDirectory,
    private readonly runners: readonly RunnerKind[],
  ) {}

  /** Declares an agent, new or in place of what it was. @throws DomainError `invalid_request`, `precondition_failed` */
  async put(caller: Caller, request: EditRequest): Promise<Edited> {
    const source = withId(assertObject(request.body), request.agentId);
    return this.edit(caller, request, { action: 'agent.put', make: () => source });
  }

  /**
   * Changes parts of a declaration by a JSON merge patch (RFC 7396) on what was written, defaults left out.
   *
   * @throws DomainError `invalid_request`, `not_found`, `precondition_failed`
   */
  async patch(caller: Caller, request: EditRequest): Promise<Edited> {
    const patch = assertObject(request.body);
    const unknown = Object.keys(patch).filter((field) => !AGENT_FIELDS.has(field));
    if (unknown.length > 0) {
      throw refused(
        unknown.map((field) => ({ path: pointerTo(field.slice(0, 100)), message: 'is not a known field' })),
      );
    }
    const make = (current: Source | undefined): Source => {
      if (!current) throw new DomainError('not_found', 'There is no such agent.');
      return withId(applyMergePatch(current, patch) as Source, request.agentId);
    };
    return this.edit(caller, request, { action: 'agent.patch', make });
  }

  private async edit(
    caller: Caller,
    { agentId, expects, requestId }: EditRequest,
    { action, make }: { readonly action: string; readonly make: (current: Source | undefined) => Source },
  ): Promise<Edited> {
    let isNew = false;
    const stored = await this.store.change((agents) => {
      const current = agents.find(({ id }) => id === agentId);
      const source = make(current?.source);
      this.check(
        source,
        agents.filter(({ id }) => id !== agentId),
      );
      assertExpected(current, expects);
      isNew = current === undefined;
      const details = { old: current ? digestOf(current.source) : null, new: digestOf(source) };
      const audit = auditOf(caller, { action, target: agentId, details, requestId });
      return { id: agentId, source, replaces: current?.version, audit };
    });
    this.directory.announce();
    // The change is made; should looking fail now, the notice or the timer brings it.
    await this.directory.refresh().catch(() => undefined);
    return { agent: recordOf(stored), isNew };
  }

  private check(source: Source, others: readonly StoredAgent[]): void {
    const faults = declarationFaults(source, this.runners);
    if (faults.length > 0) throw refused(faults);
    const clashes = clashesOf([...others.map(declared), declared({ source })]);
    if (clashes.length > 0) throw refused(clashes, 'taken');
  }
}

function declared({ source }: Pick<StoredAgent, 'source'>): AgentDeclaration {
  return decodeAgent(source as unknown as AgentSource);
}

function assertObject(body: unknown): Source {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Source;
  throw refused([{ path: '', message: 'must be object' }]);
}

/** The path names the agent; a body may repeat its name, and no other. */
function withId(source: Source, agentId: string): Source {
  if (!Object.hasOwn(source, 'id')) return { id: agentId, ...source };
  if (source['id'] === agentId) return source;
  throw refused([{ path: '/id', message: 'must be the id in the path' }]);
}

function assertExpected(current: StoredAgent | undefined, { ifMatch, ifNoneMatch }: Expectation): void {
  const isOneOf = (versions: '*' | readonly number[]): boolean =>
    current !== undefined && (versions === '*' || versions.includes(current.version));
  if ((ifMatch && !isOneOf(ifMatch)) || (ifNoneMatch && isOneOf(ifNoneMatch))) {
    throw new DomainError('precondition_failed', 'The agent is not in the state the request expects; read it again.');
  }
}

function refused(
  found: readonly { readonly path: string; readonly message: string }[],
  code = 'declaration',
): DomainError {
  const faults: readonly Fault[] = found.slice(0, MAX_FAULTS).map(({ path, message }) => ({ path, code, message }));
  const [first] = faults;
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
  return new DomainError('invalid_request', `${first?.path || 'The body'}: ${first?.message}${more}.`, { faults });
}

function digestOf(source: Source): string {
  return createHash('sha256').update(canonicalJson(source)).digest('hex');
}
