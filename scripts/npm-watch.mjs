// npm runs us through a shell that dies of a SIGTERM without passing it on: whoever loses that parent ends as if it
// had got the signal itself, or `npm start` killed by its process id would leave everything running.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  timer.unref();
}
