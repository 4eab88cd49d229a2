// Loaded before a process that `npm start` runs: ends it in its usual way when the process that started it is gone.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel alone must not keep the process alive.
process.channel?.unref();
