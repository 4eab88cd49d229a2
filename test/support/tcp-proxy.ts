import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface ProxyOptions {
  /** A connection over which nothing has come for so long is cut, as load balancers do. */
  readonly idleMs?: number;
  /** How long what passes is held back. */
  readonly delayMs?: number;
}

/** Stands between a client and a server, and can turn the connections it carries into dead ones. */
export class TcpProxy {
  private readonly carried = new Set<Socket>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private targetPort: number,
    private readonly options: ProxyOptions,
  ) {}

  static async start(targetPort: number, options: ProxyOptions = {}): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new TcpProxy(server, (server.address() as AddressInfo).port, targetPort, options);
    server.on('connection', (client) =>
      proxy.isCut ? client.destroy() : proxy.carry(client, connect(proxy.targetPort, '127.0.0.1')),
    );
    return proxy;
  }

  /** From now on nothing passes on the connections there are, and neither side is told. New ones work. */
  silence(): void {
    for (const socket of this.carried) socket.unpipe().pause();
  }

  /** Ends the connections there are, and those to come, until `mend`. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.carried) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  /** Connections to come go there; those there are stay where they are. */
  aim(targetPort: number): void {
    this.targetPort = targetPort;
  }

  async close(): Promise<void> {
    for (const socket of this.carried) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private carry(client: Socket, target: Socket): void {
    const { delayMs, idleMs } = this.options;
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      this.carried.add(from);
      if (delayMs === undefined) from.pipe(to);
      else from.pipe(late(delayMs)).pipe(to);
      if (idleMs !== undefined) from.setTimeout(idleMs, () => from.destroy());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.carried.delete(from);
        to.destroy();
      });
    }
  }
}

function late(delayMs: number): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => void setTimeout(() => done(null, chunk), delayMs),
  });
}
