import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** From wherever Maven's own settings say. */
const VERSION = process.env['AGENTSCOPE_VERSION'] ?? '2.0.3';
const HARNESS = `io.agentscope:agentscope-harness:${VERSION}`;
const MAIN = path.resolve(import.meta.dirname, 'RemoteClient.java');
const SILENT_LOG = 'org.slf4j:slf4j-nop:2.0.17';

/** Compiles the client below a folder and answers its class path, or says in a line what is missing. */
export function compileClient(folder: string): { readonly classPath: string } | { readonly missing: string } {
  for (const tool of ['javac', 'mvn']) {
    if (spawnSync(tool, ['-version'], { stdio: 'ignore' }).status !== 0) return { missing: `${tool} (JDK 17, Maven)` };
  }
  const jars = path.join(folder, 'jars');
  const classes = path.join(folder, 'classes');
  mkdirSync(classes, { recursive: true });
  const classPath = `${classes}${path.delimiter}${jars}/*`;
  if (!fetchJars(folder, jars, [HARNESS, SILENT_LOG])) return { missing: `${HARNESS} in a Maven repository` };
  const args = ['--release', '17', '-proc:none', '-nowarn', '-d', classes, '-cp', classPath, MAIN];
  execFileSync('javac', args, { stdio: 'pipe' });
  return { classPath };
}

function fetchJars(folder: string, jars: string, coordinates: readonly string[]): boolean {
  const dependencies = coordinates.map((coordinate) => {
    const [group, artifact, version] = coordinate.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  const project = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>switchyard</groupId><artifactId>interop</artifactId><version>1</version>
<dependencies>${dependencies.join('')}</dependencies></project>`;
  writeFileSync(path.join(folder, 'pom.xml'), project);
  const args = ['-B', '-q', 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`];
  return spawnSync('mvn', args, { cwd: folder, stdio: 'ignore', timeout: 300_000 }).status === 0;
}

/** An event as AgentScope's client has read it, and what it makes of it. */
export interface JavaEvent {
  readonly event: {
    readonly seq: number;
    readonly type: string | null;
    readonly taskId: string;
    readonly status?: string;
    readonly payload?: string;
  };
  readonly decoded?: Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };
}

/** An event as the parent's own stream shows it. */
export interface ForwardedEvent {
  readonly type: string;
  readonly source: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

type Asked = { readonly op: string; readonly url: string; readonly taskId?: string } & Readonly<
  Record<string, unknown>
>;
interface Line extends Partial<JavaEvent> {
  readonly n?: number;
  readonly value?: unknown;
  readonly error?: string;
  readonly forwarded?: ForwardedEvent;
}

/** The client in a process of its own. */
export class JavaClient {
  readonly events: JavaEvent[] = [];
  /** What parents were told, of whichever task. */
  readonly forwarded: ForwardedEvent[] = [];
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, (line: Line) => void>();
  private count = 0;

  /** @param folder takes the workspaces of parents */
  constructor(classPath: string, folder: string, key: string) {
    this.child = spawn('java', [`-Djava.io.tmpdir=${folder}`, '-cp', classPath, 'RemoteClient', key], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: this.child.stdout! }).on('line', (text) => this.read(JSON.parse(text) as Line));
  }

  /** Rejects with what the client throws. */
  async ask(asked: Asked): Promise<unknown> {
    this.count += 1;
    const n = this.count;
    const answer = new Promise<Line>((resolve) => this.waiting.set(n, resolve));
    this.child.stdin!.write(`${JSON.stringify({ n, ...asked })}\n`);
    const { value, error } = await answer;
    if (error !== undefined) throw new Error(error);
    return value;
  }

  eventsOf(taskId: string): JavaEvent[] {
    return this.events.filter(({ event }) => event.taskId === taskId);
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.stdin!.end();
    await exited;
  }

  private read(line: Line): void {
    if (line.forwarded) this.forwarded.push(line.forwarded);
    else if (line.n === undefined) this.events.push(line as JavaEvent);
    else this.waiting.get(line.n)?.(line);
  }
}
