import type { AuditTrail, MintedToken, TaskTokens } from '#lib/domain';
import type { Caller } from './caller.js';
import type { LiveGrant, TaskTokenAuthenticator } from './task-token.authenticator.js';

/** Somebody who asks about a token: a caller by its key, or a run by its own token. */
export type Asker =
  { readonly kind: 'caller'; readonly caller: Caller } | { readonly kind: 'run'; readonly grant: LiveGrant };

/** Renews tokens of live runs, and tells tool servers what a token they were given is worth. */
export class RunTokensService {
  constructor(
    private readonly tokens: TaskTokens,
    private readonly authenticator: TaskTokenAuthenticator,
    private readonly audit: AuditTrail,
  ) {}

  /** The same rights for another while, never past the deadline. @throws DomainError `unauthenticated`, `unavailable` */
  async renew(grant: LiveGrant, requestId: string): Promise<MintedToken> {
    const { taskKey, taskId, runNo, tenant, principal, agentId, runtimeId, sessionId, tools, deadlineAtMs } = grant;
    const minted = await this.tokens.mint({
      ...{ taskKey, taskId, runNo, tenant, principal, agentId, runtimeId, tools, deadlineAtMs },
      ...(sessionId === undefined ? {} : { sessionId }),
    });
    const details = {
      run_no: runNo,
      agent_id: agentId,
      runtime_id: runtimeId,
      expires_at: new Date(minted.expiresAtMs),
    };
    const what = {
      action: 'token.renew',
      target: taskId,
      outcome: 'allowed',
      details: JSON.stringify(details),
    } as const;
    await this.audit.record([{ tenant, principal, keyId: grant.tokenId, ...what, requestId }]);
    return minted;
  }

  /**
   * What the token says, if its run lives and the asker may know of it: a caller of tokens of its tenant, a run of
   * its own. Undefined otherwise, and the answer does not tell why (RFC 7662, 2.2). @throws DomainError `unavailable`
   */
  async introspect(token: string, asker: Asker): Promise<LiveGrant | undefined> {
    const grant = await this.authenticator.introspect(token);
    return grant && mayKnow(asker, grant) ? grant : undefined;
  }
}

function mayKnow(asker: Asker, grant: LiveGrant): boolean {
  if (asker.kind === 'run') return asker.grant.taskKey === grant.taskKey && asker.grant.runNo === grant.runNo;
  return asker.caller.tenant === grant.tenant || asker.caller.scopes.has('platform:admin');
}
