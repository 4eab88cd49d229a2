// Loaded ahead of a program: on SIGUSR2 it collects garbage and writes down what its heap and its buffers hold.
import { renameSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const file = process.env.BENCH_MEMORY_FILE;

process.on('SIGUSR2', async () => {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${file}.new`, String(heapUsed + external));
  renameSync(`${file}.new`, file);
});
