import { createRequire } from 'node:module';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

interface S3rver {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}
interface S3rverOptions {
  readonly port: number;
  readonly address: string;
  readonly silent: boolean;
  readonly directory: string;
  readonly configureBuckets: readonly { readonly name: string }[];
}

/** The settings of a bucket, as the processes read them. */
export interface S3Settings {
  readonly S3_BUCKET: string;
  readonly S3_ENDPOINT: string;
  readonly S3_ACCESS_KEY_ID: string;
  readonly S3_SECRET_ACCESS_KEY: string;
}

/** A server that speaks S3, in this process, with one bucket. */
export class S3Server {
  private constructor(
    readonly settings: S3Settings,
    private readonly server: S3rver,
    private readonly directory: string,
  ) {}

  static async start(): Promise<S3Server> {
    const Server = createRequire(import.meta.url)('s3rver') as new (options: S3rverOptions) => S3rver;
    const directory = await mkdtemp(path.join(tmpdir(), 'switchyard-s3-'));
    const bucket = {
      port: 0,
      address: '127.0.0.1',
      silent: true,
      directory,
      configureBuckets: [{ name: 'artifacts' }],
    };
    const server = new Server(bucket);
    const { port } = await server.run();
    const settings = {
      S3_BUCKET: 'artifacts',
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      // The one key the server knows.
      S3_ACCESS_KEY_ID: 'S3RVER',
      S3_SECRET_ACCESS_KEY: 'S3RVER',
    };
    return new S3Server(settings, server, directory);
  }

  async stop(): Promise<void> {
    await this.server.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
