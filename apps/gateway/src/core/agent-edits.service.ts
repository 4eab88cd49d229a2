import {
  type AgentDeclaration,
  type AgentRecord,
  type AgentStore,
  applyMergePatch,
  clashesOf,
  DomainError,
  pointerTo,
  type StoredAgent,
} from '#lib/domain';
import { declarationFaults, decodeAgent, type RunnerKind } from './agent.declaration.js';
import { type AgentDirectory, recordOf } from './agent.directory.js';
import { AGENT_FIELDS, type AgentSource } from './agent.schema.js';
import { auditOf, type Caller } from './caller.js';
import {
  assertExpected,
  assertObject,
  digestOf,
  type Expectation,
  refused,
  sourceOf,
  withId,
} from './declaration-edit.js';

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
    const source = sourceOf(request.body, request.agentId);
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
      assertExpected(current, expects, 'agent');
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
