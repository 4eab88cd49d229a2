import type { Request, Response } from 'express';
import { type AgentRecord, DomainError, faulty } from '#lib/domain';
import { EXTENSION, REASON, VERSIONS } from '#lib/protocol/a2a';
import type { AgentDirectory } from '../core/agent.directory.js';
import type { Caller } from '../core/caller.js';
import { leftSignal, requestIdOf } from '../http/exchange.js';

/** A version of the protocol that is spoken here. */
export type Version = (typeof VERSIONS)[number];

/** One request of a client to an agent. */
export class A2aCall {
  readonly requestId: string;
  /** Fires when the client leaves before it has its answer. */
  readonly signal: AbortSignal;
  /** What went wrong below the transports of the SDK, which keep little of it. */
  failure: Error | undefined;
  private readonly closers: (() => unknown)[] = [];

  constructor(
    readonly caller: Caller,
    readonly agent: AgentRecord,
    readonly version: Version,
    response: Response,
  ) {
    this.requestId = requestIdOf(response);
    this.signal = leftSignal(response);
  }

  /** To be called when nobody reads the answer any more. */
  onLeave(close: () => unknown): void {
    this.closers.push(close);
  }

  leave(): void {
    for (const close of this.closers.splice(0)) close();
  }
}

/** What a request says of itself. */
export interface Asking {
  readonly caller: Caller;
  readonly agentId: string;
  readonly request: Request;
  readonly response: Response;
}

/** Opens calls: finds out which agent is meant and which version is spoken. */
export class A2aCalls {
  constructor(private readonly directory: AgentDirectory) {}

  /** @throws DomainError `unknown_agent`, `invalid_request` for a version that is not among `admitted`. */
  open({ caller, agentId, request, response }: Asking, admitted: readonly Version[] = VERSIONS): A2aCall {
    const agent = this.find(agentId, caller.tenant);
    const version = versionOf(request, admitted);
    echoExtensions(request, response);
    return new A2aCall(caller, agent, version, response);
  }

  /** @throws DomainError `unknown_agent` */
  find(agentId: string, tenant: string): AgentRecord {
    const agent = this.directory.find(agentId, tenant);
    if (!agent) throw unknownAgent();
    return agent;
  }
}

export function unknownAgent(): DomainError {
  return new DomainError('unknown_agent', 'There is no such agent.');
}

/** A request that says nothing speaks 0.3 (A2A 1.0, "Versioning"). */
export function spokenVersion(request: Request): string {
  const asked = request.get('a2a-version') ?? request.query['A2A-Version'];
  return typeof asked === 'string' && asked.trim() !== '' ? asked.trim() : '0.3';
}

function versionOf(request: Request, admitted: readonly Version[]): Version {
  const spoken = spokenVersion(request);
  const version = admitted.find((each) => each === spoken);
  if (version !== undefined) return version;
  const message = `must be ${admitted.join(' or ')}`;
  throw new DomainError('invalid_request', `header.a2a-version: ${message}.`, {
    faults: [{ path: 'header.a2a-version', code: 'is_in', message }],
    extensions: { [REASON]: 'VERSION_NOT_SUPPORTED' },
  });
}

function echoExtensions(request: Request, response: Response): void {
  for (const name of ['A2A-Extensions', 'X-A2A-Extensions']) {
    const asked = request.get(name)?.split(',') ?? [];
    if (asked.some((uri) => uri.trim() === EXTENSION)) response.setHeader(name, EXTENSION);
  }
}

/** We go by the address: a tenant is said to be the caller's own, or nothing. @throws DomainError `invalid_request` */
export function assertTenant({ caller }: A2aCall, tenant: string): void {
  if (tenant === '' || tenant === caller.tenant) return;
  throw faulty('invalid_request', [{ path: '/tenant', code: 'invalid', message: 'is not yours' }]);
}
