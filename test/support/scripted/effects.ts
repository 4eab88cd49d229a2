import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Something a run did to the world. */
export interface Effect {
  readonly taskId: string;
  readonly runNo: number;
  /** Id of the tool call that did it. */
  readonly token: string;
}

/** Adds a line to the file that stands for the world; whole, whoever else writes. */
export function writeEffect(file: string, effect: Effect): void {
  appendFileSync(file, `${JSON.stringify(effect)}\n`);
}

/** Everything that was done to the world, in order. */
export function readEffects(file: string): Effect[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line) as Effect);
}
