/**
 * Resolves with the first thing that asks this process to stop: SIGTERM, SIGINT, or the end of the parent that spawned
 * it with an IPC channel. Later signals change nothing: a Ctrl-C reaches the whole group and the parent then asks again.
 */
export function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
    if (process.send === undefined) return;
    process.once('disconnect', () => resolve('disconnect'));
    process.channel?.unref(); // alone it must not keep alive a process that has stopped
  });
}
