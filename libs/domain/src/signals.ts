import type { TaskKey } from './ids.js';

/** Told to the runtime that holds a run. Only a hint: the same is learnt from the next append or renewal. */
export interface RunSignal {
  /** `cancel`: a cancel was asked. `closed`: the run was ended by somebody else. */
  readonly kind: 'cancel' | 'closed';
  readonly taskKey: TaskKey;
  readonly runNo: number;
}

const FORM = /^(cancel|closed) ([0-9a-f-]{36}) (\d{1,10})$/;

/** The channel a runtime listens on. */
export function runtimeChannel(runtimeId: string): string {
  return `runtime:${runtimeId}`;
}

/** The text of a signal, at most 60 characters. */
export function encodeRunSignal({ kind, taskKey, runNo }: RunSignal): string {
  return `${kind} ${taskKey} ${runNo}`;
}

/** Undefined for a message that is none: channels carry text of any version. */
export function decodeRunSignal(message: string): RunSignal | undefined {
  const [, kind, taskKey, runNo] = FORM.exec(message) ?? [];
  if (kind === undefined) return undefined;
  return { kind: kind as RunSignal['kind'], taskKey: taskKey as TaskKey, runNo: Number(runNo) };
}
