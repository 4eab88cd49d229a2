// What people see while they wait: one line per stage, a spinner on a terminal, no stack trace for a mistake of theirs.
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const out = process.stderr;

/** A failure whose message alone tells the reader what to do. */
export class UserError extends Error {
  name = 'UserError';
}

export function say(line = '') {
  out.write(`${line}\n`);
}

function seconds(startedMs) {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}

function spin(label, startedMs) {
  let frame = 0;
  const draw = () => out.write(`\r\x1b[2K${FRAMES[(frame += 1) % FRAMES.length]} ${label} ${seconds(startedMs)}`);
  const timer = setInterval(draw, 100);
  return () => {
    clearInterval(timer);
    out.write('\r\x1b[2K');
  };
}

// Without a terminal a line tells what is being waited for, and again every ten seconds.
function remind(label, startedMs) {
  const first = setTimeout(() => say(`… ${label}`), 1000);
  const again = setInterval(() => say(`… ${label} (${seconds(startedMs)})`), 10_000);
  return () => {
    clearTimeout(first);
    clearInterval(again);
  };
}

let abandon = () => undefined;

/** Runs `work` and shows it as one stage; what it returns may say more: `{ note }`. A later stage takes its place. */
export async function stage(label, work) {
  abandon();
  const startedMs = performance.now();
  const stop = out.isTTY ? spin(label, startedMs) : remind(label, startedMs);
  let shown = true;
  abandon = () => {
    if (shown) stop();
    shown = false;
  };
  const end = (line) => {
    if (!shown) return;
    abandon();
    say(line);
  };
  try {
    const result = await work();
    end(`✓ ${label}${result?.note ? `: ${result.note}` : ''} (${seconds(startedMs)})`);
    return result;
  } catch (error) {
    end(`✗ ${label}`);
    throw error;
  }
}

/** Ends the process with one line for a user's mistake, with the whole error for ours. */
export function fail(error) {
  say(error?.name === 'UserError' ? `\n${error.message}` : (error?.stack ?? String(error)));
  process.exitCode = 1;
}
