// npm run bench: the product against a floor and against peers, as ratios within one run on one machine.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fail, say, stage, UserError } from '../../scripts/terminal.mjs';
import { startPostgres, startRedis, stopServices } from '../support/services.mjs';
import { fanOut } from './fanout.mjs';
import { loss } from './loss.mjs';
import { startLatency, throughput } from './measure.mjs';
import { parseOptions, USAGE } from './options.mjs';
import { stopChildren } from './processes.mjs';
import { render, summarise } from './report.mjs';
import { replay } from './replay.mjs';
import { startBare } from './sides/bare.mjs';
import { startFloor } from './sides/floor.mjs';
import { installPeers, startA2a, startLanggraph } from './sides/peers.mjs';
import { startProduct } from './sides/product.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const dir = path.join(root, '.data/bench');
const CLIENTS = 64;
const BURST_CLIENTS = 8;

// Everything else as PostgreSQL comes, fsync included.
const POSTGRES = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '300' };

async function startServices() {
  const redis = await startRedis();
  if (redis === undefined) throw new UserError('The bench needs redis-server on the PATH: install it and run again');
  return { redis, postgres: await startPostgres(POSTGRES) };
}

async function startPeers(metrics, voids) {
  const peers = path.join(dir, 'peers');
  try {
    await installPeers(peers);
  } catch (error) {
    if (error.name !== 'UserError') throw error;
    voids.push(`M2 and M2b: ${error.message}`);
    return {};
  }
  return {
    ...(metrics.has('M2') && { langgraph: await startLanggraph(peers, dir) }),
    ...(metrics.has('M2b') && { a2a: await startA2a(peers, dir) }),
  };
}

/** The sides the chosen metrics need, each a server and a worker on the same PostgreSQL and Redis. */
async function startSides({ metrics, profile, floor: withoutProduct }, services, voids) {
  const wants = (...ids) => ids.some((id) => metrics.has(id));
  const sides = {};
  if (wants('M1', 'M3', 'M4')) sides.floor = await startFloor(services, dir, services.redis);
  if (wants('M1p')) sides.floor_postgres = await startFloor(services, dir);
  if (wants('M6', 'M6m')) sides.bare = await startBare(dir);
  if (wants('M2', 'M2b')) Object.assign(sides, await startPeers(metrics, voids));
  if (withoutProduct) return sides;
  if ([...metrics].some((id) => id !== 'M1p'))
    sides.product = await startProduct(services, dir, { redis: services.redis, profile });
  if (wants('M1p')) sides.product_postgres = await startProduct(services, dir, { profile });
  return sides;
}

/** What of one side a round measures, as [sample name, measurement, by which metrics it is wanted]. */
function stepsOf([name, side], { windowMs, probes, fanOutEvents }) {
  const load = () => throughput(side, { kind: 'task', clients: CLIENTS, windowMs });
  if (name === 'bare') return [['bare.fanout', () => fanOut(side, { events: fanOutEvents }), ['M6', 'M6m']]];
  if (name !== 'floor' && name !== 'product') return [[`${name}.load`, load]];
  const both = [
    [`${name}.load`, load, name === 'floor' ? ['M1'] : ['M1', 'M2', 'M2b']],
    [`${name}.idle`, () => startLatency(side, { probes }), ['M3']],
    [`${name}.burst`, () => throughput(side, { kind: 'burst', clients: BURST_CLIENTS, windowMs }), ['M4']],
  ];
  if (name === 'floor') return both;
  return [...both, ['product.fanout', () => fanOut(side, { events: fanOutEvents }), ['M6', 'M6m']]];
}

/** What a round measures, as [name, function that answers samples by name]. */
function plan(options, sides) {
  const isWanted = (ids) => ids === undefined || ids.some((id) => options.metrics.has(id));
  const steps = Object.entries(sides)
    .flatMap((side) => stepsOf(side, options))
    .filter(([, , ids]) => isWanted(ids))
    .map(([name, measure]) => [name, async () => ({ [name]: await measure() })]);
  const { product } = sides;
  // These two bring what they are compared with.
  if (product && isWanted(['M7'])) steps.push(['replay', () => replay(product, options)]);
  if (product && isWanted(['M8'])) steps.push(['loss', () => loss(product)]);
  return steps;
}

async function runRound(steps, voids) {
  const samples = {};
  for (const [name, measure] of steps) {
    try {
      Object.assign(samples, await measure());
    } catch (error) {
      if (error.name !== 'VoidRound') throw error;
      voids.push(`${name}: ${error.message}`);
    }
  }
  return samples;
}

async function bench(options) {
  await mkdir(dir, { recursive: true });
  const services = await stage('PostgreSQL and Redis', startServices);
  const [rounds, voids] = [[], []];
  const sides = await stage('servers and workers', () => startSides(options, services, voids));
  const steps = plan(options, sides);
  const warm = plan({ ...options, windowMs: options.windowMs / 2, probes: 10, fanOutEvents: 100, replays: 1 }, sides);
  await stage('warm-up', () => runRound(warm, []));
  for (let round = 1; round <= options.rounds; round += 1) {
    // Each second round goes the other way, so that a drift of the machine favours nobody.
    const order = round % 2 === 1 ? steps : [...steps].reverse();
    await stage(`round ${round} of ${options.rounds}`, async () => rounds.push(await runRound(order, voids)));
  }
  return summarise([...options.metrics], rounds, voids);
}

async function main() {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) return say(USAGE);
  try {
    const summary = await bench(options);
    process.stdout.write(`${options.json ? JSON.stringify(summary, null, 2) : render(summary)}\n`);
    if (summary.voids.length > 0) process.exitCode = 1;
  } finally {
    await stopChildren();
    await stopServices();
  }
}

await main().catch(fail);
process.exit();
