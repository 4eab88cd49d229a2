import type { RunPolicy } from '#lib/domain';

/**
 * Whether a task whose run broke off may run again: from its checkpoint where the runner can go on from one, from the
 * start where the agent's policy asks for that.
 */
export function mayRunAgain({ onLost }: RunPolicy, runner: { readonly canResume: boolean }): boolean {
  return onLost === 'restart' || (onLost === 'resume' && runner.canResume);
}
