/** Whether this process can serve requests. */
export abstract class Readiness {
  /** Names what is missing, in words an operator knows (`postgres`, `migrations`, …); empty when ready. Never rejects. */
  abstract missing(): Promise<readonly string[]>;
}
