export interface TestServer {
  readonly url: string;
  /** Its guard; the server is a child of it. */
  readonly pid: number;
}

/** A Redis of one's own, ended with the test run; undefined where there is none to start. */
export function startRedis(): Promise<TestServer | undefined>;
