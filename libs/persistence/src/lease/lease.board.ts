import type { HeldRun, TaskKey } from '#lib/domain';

/** `tick` in the first 4 bytes, the time of the last renewal in the 8 after the next 4, then the slots. */
const HEADER_BYTES = 16;
/** A run number in 4 bytes (0: free), 36 characters of a task key, and ms between two signs of life in 4 bytes. */
const SLOT_BYTES = 44;
const KEY_BYTES = 36;

/** A held run with how often it is to be shown to live. */
export interface BoardedRun extends HeldRun {
  readonly heartbeatMs: number;
}

/**
 * Memory shared by the main loop, which writes which runs it holds and that it is alive, and the lease thread, which
 * reads both however busy the main loop is. A slot read while it is written names a run that does not exist, which the
 * database then does not renew; the next reading is right again.
 */
export class LeaseBoard {
  private readonly words: Int32Array;
  private readonly renewed: BigInt64Array;
  private readonly bytes: Buffer;

  constructor(readonly memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory);
    this.renewed = new BigInt64Array(memory, 8, 1);
    this.bytes = Buffer.from(memory);
  }

  static create(capacity: number): LeaseBoard {
    return new LeaseBoard(new SharedArrayBuffer(HEADER_BYTES + capacity * SLOT_BYTES));
  }

  get capacity(): number {
    return (this.memory.byteLength - HEADER_BYTES) / SLOT_BYTES;
  }

  /** Said by the main loop: it turns. */
  tick(): void {
    Atomics.add(this.words, 0, 1);
  }

  ticks(): number {
    return Atomics.load(this.words, 0);
  }

  /** Nanoseconds of `process.hrtime`, which all threads share; 0: never. */
  get renewedAtNs(): bigint {
    return Atomics.load(this.renewed, 0);
  }

  set renewedAtNs(value: bigint) {
    Atomics.store(this.renewed, 0, value);
  }

  put(slot: number, { taskKey, runNo, heartbeatMs }: BoardedRun): void {
    const offset = HEADER_BYTES + slot * SLOT_BYTES;
    this.bytes.write(taskKey, offset + 4, KEY_BYTES, 'latin1');
    this.words[(offset + 4 + KEY_BYTES) / 4] = heartbeatMs;
    Atomics.store(this.words, offset / 4, runNo);
  }

  free(slot: number): void {
    Atomics.store(this.words, (HEADER_BYTES + slot * SLOT_BYTES) / 4, 0);
  }

  runs(): BoardedRun[] {
    const runs: BoardedRun[] = [];
    for (let slot = 0; slot < this.capacity; slot += 1) {
      const offset = HEADER_BYTES + slot * SLOT_BYTES;
      const runNo = Atomics.load(this.words, offset / 4);
      if (runNo === 0) continue;
      const afterKey = offset + 4 + KEY_BYTES;
      const taskKey = this.bytes.toString('latin1', offset + 4, afterKey) as TaskKey;
      runs.push({ taskKey, runNo, heartbeatMs: this.words[afterKey / 4]! });
    }
    return runs;
  }
}
