import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '#lib/domain';
import { createSweeps, EventWriter, SessionAdvancer, SweepLoop } from '#lib/execution';
import { Readiness } from '#lib/platform';
import { hashSecret } from '#lib/security';
import { ToolDirectory } from '#lib/tools';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { requestHeadersOf } from './ag-ui/ag-ui.options.js';
import type { GatewayConfig } from './config.js';
import { clientHeadersOf } from './chat/chat.options.js';
import { ensureAdminKey } from './core/admin-key.js';
import { AgentDirectory } from './core/agent.directory.js';
import { AgentsFileError, parseAgentsFile } from './core/agents-file.js';
import { Quotas } from './core/quotas.js';
import { DeliveriesWorker } from './core/deliveries.worker.js';
import { KeyUses } from './core/key-uses.js';
import { StreamHub } from './core/stream-hub.js';
import { openGauges } from './gauges.js';
import { GatewayModule } from './gateway.module.js';
import { EdgeAdapter } from './http/express.adapter.js';
import { describeApi } from './http/openapi.js';
import { EventStreams } from './http/sse.js';
import { type Infrastructure, openInfrastructure } from './infrastructure.js';

/** A gateway that serves. */
export interface RunningGateway {
  /** Where it listens. */
  readonly url: string;
  /** Ends it in order: what it has begun to answer is answered, within the drain time. */
  stop(): Promise<void>;
}

/** How long attempts to deliver messages may go on while draining. */
const MAX_DELIVERY_DRAIN_MS = 5_000;
/** How often connections that have become idle are closed while draining. */
const DRAIN_STEP_MS = 50;

/** @throws DomainError, AgentsFileError with one line for the operator. */
export async function startGateway(config: GatewayConfig, logger: Logger): Promise<RunningGateway> {
  const place = { url: '' };
  const infrastructure = await openInfrastructure(config, logger, () => config.publicUrl ?? place.url);
  try {
    const hasChanged = await prepare(config, infrastructure, logger);
    const app = await NestFactory.create(
      GatewayModule.over(infrastructure.ports, config.protocols),
      new EdgeAdapter({
        ...config,
        metrics: infrastructure.ports.metrics,
        corsHeaders: [...requestHeadersOf(config.protocols.agUi), ...clientHeadersOf(config.protocols.chat)],
        isSecure: config.publicUrl?.startsWith('https:') ?? false,
      }),
      { bodyParser: false, logger: false, abortOnError: false },
    );
    describeApi(app);
    const agents = app.get(AgentDirectory, { strict: false });
    await agents.open();
    const tools = app.get(ToolDirectory, { strict: false });
    await tools.open();
    if (hasChanged) {
      agents.announce();
      tools.announce();
    }
    openGauges(app, infrastructure);
    app.get(Readiness, { strict: false }).become('serving');
    await app.listen(config.port, config.host);
    place.url = urlOf(app, config.host);
    app.get(Quotas, { strict: false }).start();
    await app.get(DeliveriesWorker, { strict: false }).start();
    const sweeps = startSweeps(app, infrastructure, config);
    logger.info('the gateway listens', { address: place.url });
    return { url: place.url, stop: () => stop(app, { infrastructure, sweeps, drainMs: config.drainMs }) };
  } catch (error) {
    await infrastructure.close();
    throw error;
  }
}

/** What has to be in the database before the first request. True when the agents are others than before. */
async function prepare(config: GatewayConfig, { ports, partitions }: Infrastructure, logger: Logger): Promise<boolean> {
  await partitions.ensure();
  if (config.adminKey) {
    const { id, secret } = config.adminKey;
    const what = await ensureAdminKey(ports.keys, { id, secretHash: hashSecret(secret) });
    logger.info('the admin key is in place', { what });
  }
  const text = await readFile(config.agentsFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AgentsFileError(`it cannot be read (${error.code})`);
  });
  const { agents, tools } = parseAgentsFile(text, { runners: ports.runners, stdio: config.tools.stdio });
  const digest = createHash('sha256').update(text).digest('hex');
  const isApplied = await ports.agents.applyFile(digest, agents, tools);
  if (isApplied) logger.info('the agents file was applied', { agents: agents.length, tools: tools.length });
  return isApplied;
}

function startSweeps(
  app: INestApplication,
  { ports, runs, partitions, sealing }: Infrastructure,
  config: GatewayConfig,
): SweepLoop {
  const writer = app.get(EventWriter, { strict: false });
  const advancer = app.get(SessionAdvancer, { strict: false });
  const sweeps = createSweeps(
    { ...ports, runs, writer, advancer },
    {
      leaseMs: config.leaseMs,
      // A kind that is not known here may be resumable: whoever hosts it decides.
      canResume: (kind) => ports.runners.find((runner) => runner.kind === kind)?.capabilities.resume ?? true,
      ensurePartitions: () => partitions.ensure(),
    },
  );
  const loop = new SweepLoop(ports.logger, ports.metrics);
  loop.start([...sweeps, ...sealing.sweeps, app.get(DeliveriesWorker, { strict: false })]);
  return loop;
}

interface Parts {
  readonly infrastructure: Infrastructure;
  readonly sweeps: SweepLoop;
  readonly drainMs: number;
}

async function stop(app: INestApplication, { infrastructure, sweeps, drainMs }: Parts): Promise<void> {
  app.get(Readiness, { strict: false }).become('stopping');
  const server = app.getHttpServer() as Server;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  app.get(EventStreams, { strict: false }).close();
  const idle = setInterval(() => server.closeIdleConnections(), DRAIN_STEP_MS);
  const force = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idle);
  clearTimeout(force);
  await sweeps.stop();
  await app.get(DeliveriesWorker, { strict: false }).close(Math.min(drainMs, MAX_DELIVERY_DRAIN_MS));
  app.get(AgentDirectory, { strict: false }).close();
  await app.get(ToolDirectory, { strict: false }).close();
  app.get(StreamHub, { strict: false }).close();
  await app.get(KeyUses, { strict: false }).flush();
  await app.get(EventWriter, { strict: false }).close();
  await app.get(SessionAdvancer, { strict: false }).close();
  await app.get(Quotas, { strict: false }).close();
  await app.close();
  await infrastructure.close();
}

function urlOf(app: INestApplication, host: string): string {
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
