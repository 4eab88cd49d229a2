import type { MintedToken, TaskTokens } from '#lib/domain';
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
  ) {}

  /** The same rights for another while, never past the deadline. @throws DomainError `unauthenticated` */
  renew(grant: LiveGrant): Promise<MintedToken> {
    const { taskKey, taskId, runNo, tenant, principal, agentId, runtimeId, sessionId, tools, deadlineAtMs } = grant;
    return this.tokens.mint({
      ...{ taskKey, taskId, runNo, tenant, principal, agentId, runtimeId, tools, deadlineAtMs },
      ...(sessionId === undefined ? {} : { sessionId }),
    });
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
