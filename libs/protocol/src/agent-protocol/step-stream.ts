import type { StepChange } from './steps.js';

/** One frame of step-stream: its id is the seq of the event, so that none is used twice and a replay is the same to the byte. */
export function encodeStepFrame({ seq, step }: StepChange): string {
  return `id: ${seq}\ndata: ${JSON.stringify(step)}\n\n`;
}

const SEQ = /^\d{1,10}$/;

/** The seq after which a client goes on; 0, from the start, for an id that no frame of the task can have. */
export function decodeCursor(lastEventId: string | undefined, lastSeq: number): number {
  const seq = lastEventId !== undefined && SEQ.test(lastEventId) ? Number(lastEventId) : 0;
  return seq <= lastSeq ? seq : 0;
}
