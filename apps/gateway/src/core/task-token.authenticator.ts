import {
  type AuditTrail,
  DomainError,
  isDomainError,
  type RunCalls,
  type RunStanding,
  type TaskGrant,
  type TaskTokens,
  type TaskTokenScope,
} from '#lib/domain';
import type { Quotas } from './quotas.js';

/** A request with a task token: what it wants to do, for the record. */
export interface TokenUse {
  readonly scope: TaskTokenScope;
  /** A dotted word for the audit trail. */
  readonly action: string;
  readonly requestId: string;
}

/** A token whose run lives at this moment. `deadlineAtMs` in ms since the epoch. */
export interface LiveGrant extends TaskGrant {
  readonly deadlineAtMs: number;
}

export interface TokenPorts {
  readonly tokens: TaskTokens;
  readonly calls: RunCalls;
  readonly audit: AuditTrail;
  /** Absent: nothing is limited. */
  readonly quotas?: Pick<Quotas, 'request'>;
}

/** Believes a task token when it is genuine, for us, and its run is the live one now: asked anew on each use. */
export class TaskTokenAuthenticator {
  constructor(private readonly ports: TokenPorts) {}

  /** @throws DomainError `unauthenticated`, `forbidden`, `rate_limited`, `unavailable` */
  async authenticate(credential: string, use: TokenUse): Promise<LiveGrant> {
    const grant = await this.genuine(credential, use);
    // Of the tenant's, and before anybody is asked: a run that floods must cost little.
    this.ports.quotas?.request({ tenant: grant.tenant, keyId: `run:${grant.taskKey}` });
    const standing = await this.ports.calls.standing(grant.taskKey);
    const code = reasonAgainst(grant, standing);
    if (code !== undefined || !standing) {
      this.deny(grant, use, code ?? 'unknown_task');
      throw notLive();
    }
    if (!grant.scopes.includes(use.scope)) {
      this.deny(grant, use, 'missing_scope');
      throw new DomainError('forbidden', `The token lacks the scope ${use.scope}.`);
    }
    return { ...grant, deadlineAtMs: standing.deadlineAtMs };
  }

  /** What a token says, whoever it is for, while its run lives; undefined for anything else. @throws DomainError `unavailable` */
  async introspect(token: string): Promise<LiveGrant | undefined> {
    const grant = await this.ports.tokens.verify(token, 'any').catch(orUndefined);
    if (!grant) return undefined;
    const standing = await this.ports.calls.standing(grant.taskKey);
    if (!standing || reasonAgainst(grant, standing) !== undefined) return undefined;
    return { ...grant, deadlineAtMs: standing.deadlineAtMs };
  }

  /** Notes that somebody with this token was refused. */
  deny(grant: TaskGrant, { action, requestId }: Omit<TokenUse, 'scope'>, code: string, details: object = {}): void {
    const { tenant, principal, tokenId, taskId, runNo, agentId, runtimeId } = grant;
    const text = JSON.stringify({ code, run_no: runNo, agent_id: agentId, runtime_id: runtimeId, ...details });
    const who = { tenant, principal, keyId: tokenId };
    this.ports.audit.denied({ ...who, action, target: taskId, outcome: 'denied', details: text, requestId });
  }

  private async genuine(credential: string, use: TokenUse): Promise<TaskGrant> {
    try {
      return await this.ports.tokens.verify(credential, 'runtime');
    } catch (error) {
      if (!isDomainError(error) || error.code !== 'unauthenticated') throw error;
      await this.denyUnbelieved(credential, use);
      throw error;
    }
  }

  /** A genuine token for somebody else says whose it is; of all others nothing is known. */
  private async denyUnbelieved(credential: string, { action, requestId }: TokenUse): Promise<void> {
    const other = await this.ports.tokens.verify(credential, 'any').catch(orUndefined);
    if (other) return this.deny(other, { action, requestId }, 'other_audience');
    const code = this.ports.tokens.claimsToBe(credential) ? 'invalid_token' : 'no_task_token';
    const who = { tenant: '', principal: '', keyId: '' };
    const details = JSON.stringify({ code });
    this.ports.audit.denied({ ...who, action, target: '', outcome: 'denied', details, requestId });
  }
}

/** Why a token is of no use now; undefined when nothing is against it. */
function reasonAgainst(grant: TaskGrant, standing: RunStanding | undefined): string | undefined {
  if (!standing) return 'unknown_task';
  if (standing.runNo !== grant.runNo) return 'other_run';
  if (!standing.runOpen || standing.state !== 'running') return 'run_over';
  if (standing.runtimeId !== grant.runtimeId) return 'other_runtime';
  return standing.isLeased ? undefined : 'lease_expired';
}

function orUndefined(error: unknown): undefined {
  if (!isDomainError(error) || error.code !== 'unauthenticated') throw error;
  return undefined;
}

/** The same as for a token that never was one. */
function notLive(): DomainError {
  return new DomainError('unauthenticated', 'The task token is not valid, or its run is over.');
}
