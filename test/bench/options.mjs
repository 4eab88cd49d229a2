import { UserError } from '../../scripts/terminal.mjs';

export const METRICS = ['M1', 'M2', 'M2b', 'M3', 'M4', 'M6', 'M6m', 'M7', 'M8', 'M1p'];

export const USAGE = `npm run bench -- [options]
  --only M1,M3    measure these (${METRICS.join(', ')}; M1p is M1 with Postgres as queue and bus)
  --rounds N      interleaved rounds, default 5
  --quick         2 short rounds: whether it works, not how fast it is
  --floor         the floor and the peers alone, without the product
  --profile       CPU profiles of gateway and runtime in .data/bench/profiles, which slows them down
  --json          the figures as JSON on standard output`;

function wholeNumber(name, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new UserError(`${name} takes a whole number above 0`);
  return value;
}

function pick(text) {
  const names = (text ?? '').split(',');
  const unknown = names.filter((name) => !METRICS.includes(name));
  if (unknown.length > 0) throw new UserError(`--only takes ${METRICS.join(', ')}, not "${unknown.join(', ')}"`);
  return new Set(names);
}

export function parseOptions(args) {
  const options = {
    metrics: new Set(METRICS),
    rounds: undefined,
    quick: false,
    floor: false,
    json: false,
    profile: false,
    help: false,
  };
  const rest = [...args];
  while (rest.length > 0) {
    const name = rest.shift();
    if (name === '--only') options.metrics = pick(rest.shift());
    else if (name === '--rounds') options.rounds = wholeNumber(name, rest.shift());
    else if (['--quick', '--floor', '--json', '--profile', '--help'].includes(name)) options[name.slice(2)] = true;
    else throw new UserError(`Unknown option ${name}\n${USAGE}`);
  }
  const size = options.quick
    ? { windowMs: 1_500, probes: 20, fanOutEvents: 200, replays: 3 }
    : { windowMs: 4_000, probes: 60, fanOutEvents: 1_000, replays: 9 };
  return { ...options, ...size, rounds: options.rounds ?? (options.quick ? 2 : 5) };
}
