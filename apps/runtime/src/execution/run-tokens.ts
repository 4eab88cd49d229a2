import { AdapterError } from '#lib/adapters/contract';
import type { MintedToken, TaskTokens } from '#lib/domain';
import type { LiveRun } from './live-run.js';

/** Gives a run its token for the runtime API, or for somebody else who is named. */
export type TokenSource = (audience?: string) => Promise<string>;

/** Audiences a run can have a token for at a time. */
const MAX_AUDIENCES = 20;

interface Held extends MintedToken {
  /** From then on there is a newer one. */
  readonly renewAtMs: number;
}

export interface RunTokensOptions {
  readonly runtimeId: string;
  readonly nowMs?: () => number;
}

/**
 * The tokens of one run. None is made before somebody asks, so that a run that needs none costs nothing; who asks again
 * gets the same one until half of its life is over. A run that is to stop gets none any more.
 */
export function tokensOf(tokens: TaskTokens, run: LiveRun, options: RunTokensOptions): TokenSource {
  const held = new Map<string, Promise<Held>>();
  const { runtimeId, nowMs = Date.now } = options;
  const { claim } = run.claimed;

  const mint = async (audience: string | undefined): Promise<Held> => {
    const { taskKey, taskId, runNo, tenant, createdBy, agentId, sessionId, allowedTools, deadlineAtMs } = claim;
    const mintedAtMs = nowMs();
    const minted = await tokens.mint({
      ...{ taskKey, taskId, runNo, tenant, agentId, runtimeId, deadlineAtMs },
      principal: createdBy,
      tools: allowedTools,
      ...(sessionId === null ? {} : { sessionId }),
      ...(audience === undefined ? {} : { audience }),
    });
    return { ...minted, renewAtMs: mintedAtMs + (minted.expiresAtMs - mintedAtMs) / 2 };
  };

  return async (audience) => {
    if (run.reason !== undefined || run.signal.aborted) throw over();
    const name = audience ?? '';
    const known = await held.get(name)?.catch(() => undefined);
    if (known && nowMs() < known.renewAtMs) return known.token;
    if (held.size >= MAX_AUDIENCES) held.clear();
    const made = mint(audience);
    held.set(name, made);
    return (await made).token;
  };
}

function over(): AdapterError {
  return new AdapterError('cancelled', 'The run is over: it gets no token any more.', { effects: 'none' });
}
