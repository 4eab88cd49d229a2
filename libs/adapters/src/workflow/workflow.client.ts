import {
  Annotation,
  Command,
  END,
  interrupt,
  isGraphBubbleUp,
  type LangGraphRunnableConfig,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** The checkpointer's tables live in a schema of their own. */
export const CHECKPOINT_SCHEMA = 'langgraph';

/** The role every process takes; it may neither make nor empty tables. */
const APP_ROLE = 'switchyard_app';
/** Connections of the checkpointer, for all runs of a process. */
const POOL_SIZE = 2;
const CONNECT_MS = 10_000;

/** What a stage may do besides returning its part of the state. */
export interface StageTools {
  readonly signal: AbortSignal;
  /** From 1; more when the stage is tried again. */
  readonly attempt: number;
  /**
   * Asks somebody, at most once per stage. The first time it throws, which ends the workflow here; when the workflow goes
   * on from the answer, the stage begins anew and gets it.
   */
  ask(question: unknown): unknown;
}

/** A stage of a workflow: the state so far in, what it adds out. */
export interface Stage<S> {
  readonly name: string;
  run(state: S, tools: StageTools): Promise<Partial<S>>;
  /** Name of the stage to go on with, given the state after this one; absent or undefined: the one that is listed next. */
  next?(state: S): string | undefined;
}

/** What a stage asked; `id` is the framework's, and names what an answer is for. */
export interface AskedQuestion {
  readonly id: string;
  readonly question: unknown;
}

/** What happens in a workflow, in order. */
export type WorkflowChunk<S> =
  | { readonly kind: 'started'; readonly stage: string; readonly attempt: number; readonly error?: unknown }
  | { readonly kind: 'finished'; readonly stage: string; readonly update: Partial<S> }
  /** The workflow ends here, until a run goes on from its newest checkpoint with answers. */
  | { readonly kind: 'asked'; readonly questions: readonly AskedQuestion[] }
  /** This checkpoint is durable: a later run can go on from it. */
  | { readonly kind: 'checkpoint'; readonly id: string; readonly state: Partial<S> };

export interface WorkflowRun<S> {
  readonly stages: readonly Stage<S>[];
  readonly pool: pg.Pool;
  readonly threadId: string;
  /** Goes on from here; without it, starts afresh from `input`. */
  readonly checkpointId?: string;
  /** Answers to what was asked at that checkpoint, by the framework's ids. */
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly input: Partial<S>;
  /** Tries per stage, for errors of which `mayRetry` says yes. */
  readonly attempts: number;
  mayRetry(error: unknown): boolean;
  readonly signal: AbortSignal;
}

type Channels = { readonly data: Record<string, unknown> };
type Custom = { readonly stage: string; readonly attempt: number; readonly error?: unknown };

/** One channel that stages add to, kept whole in each checkpoint: a state is small, and read whole when resumed. */
const State = Annotation.Root({
  data: Annotation<Record<string, unknown>, Record<string, unknown>>({
    reducer: (before, added) => ({ ...before, ...added }),
    default: () => ({}),
  }),
});

/**
 * The package's saver, with two differences. It never answers with a thread's newest checkpoint, only with one that is
 * named: a stalled worker that wakes late may have written the newest. And versions are unique: the package counts 1, 2, 3,
 * stores each version once and keeps the first, so what that late worker wrote would stand in for what this one wrote.
 */
class NamedCheckpointSaver extends PostgresSaver {
  private readonly saved = new Map<string, Promise<unknown>>();

  override getTuple(config: Parameters<PostgresSaver['getTuple']>[0]): ReturnType<PostgresSaver['getTuple']> {
    return config.configurable?.checkpoint_id === undefined ? Promise.resolve(undefined) : super.getTuple(config);
  }

  override put(
    ...[config, checkpoint, metadata, versions]: Parameters<PostgresSaver['put']>
  ): ReturnType<PostgresSaver['put']> {
    const saved = super.put(config, checkpoint, metadata, versions);
    this.saved.set(checkpoint.id, saved);
    return saved;
  }

  override getNextVersion(current: number | string | undefined): number {
    const next = Number.parseInt(String(current ?? '0'), 10) + 1;
    // The base class declares numbers and allows strings for exactly this purpose.
    return `${String(next).padStart(16, '0')}.${randomBytes(8).toString('hex')}` as unknown as number;
  }

  /** Resolves when that checkpoint of this run is in the database. */
  async durable(id: string): Promise<void> {
    await this.saved.get(id);
  }
}

/** Makes the checkpointer's tables, as their owner; part of the migration, never of a run. The application's role must exist. */
export async function setUpCheckpoints(databaseUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: 'workflow-setup' });
  try {
    await new PostgresSaver(pool, undefined, { schema: CHECKPOINT_SCHEMA }).setup();
    await pool.query(`grant usage on schema ${CHECKPOINT_SCHEMA} to ${APP_ROLE}`);
    await pool.query(`grant select, insert, update on all tables in schema ${CHECKPOINT_SCHEMA} to ${APP_ROLE}`);
  } finally {
    await pool.end();
  }
}

export type CheckpointPool = pg.Pool;

/** The connections runs share; they take the application's role. */
export function createCheckpointPool(databaseUrl: string): CheckpointPool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: POOL_SIZE,
    application_name: 'workflow',
    connectionTimeoutMillis: CONNECT_MS,
    options: `-c role=${APP_ROLE} -c idle_in_transaction_session_timeout=30000`,
  });
  // An idle connection that breaks is replaced at the next use; unheard, its error would end the process.
  pool.on('error', () => undefined);
  return pool;
}

/** Fails when the checkpointer's tables cannot be read. */
export async function checkCheckpoints(pool: pg.Pool): Promise<void> {
  await pool.query(`select v from ${CHECKPOINT_SCHEMA}.checkpoint_migrations limit 1`);
}

/**
 * Runs the stages one after another as a LangGraph graph. Each stage's result is durable before the next one starts.
 * Ends by throwing when the signal fires, once the stage that was running has ended.
 */
export async function* runWorkflow<S>(run: WorkflowRun<S>): AsyncGenerator<WorkflowChunk<S>> {
  const saver = new NamedCheckpointSaver(run.pool, undefined, { schema: CHECKPOINT_SCHEMA });
  const left = new AbortController();
  const active = new Set<Promise<unknown>>();
  const stream = await graphOf(run, active)
    .compile({ checkpointer: saver })
    .stream(inputOf(run), {
      configurable: {
        thread_id: run.threadId,
        ...(run.checkpointId === undefined ? {} : { checkpoint_id: run.checkpointId }),
      },
      durability: 'sync',
      streamMode: ['custom', 'updates', 'checkpoints'],
      signal: AbortSignal.any([run.signal, left.signal]),
    });
  try {
    for await (const [mode, chunk] of stream as AsyncIterable<[string, unknown]>)
      yield* chunksOf<S>(mode, chunk, saver);
  } finally {
    // Whoever leaves early, or lost patience, must not leave a stage running behind.
    left.abort();
    await Promise.allSettled(active);
  }
}

/** What LangGraph starts from: the input, or the named checkpoint, with answers to what it waits for. */
function inputOf<S>({ checkpointId, answers, input }: WorkflowRun<S>): object | null {
  if (checkpointId === undefined) return { data: input };
  return answers === undefined ? null : new Command({ resume: answers });
}

function graphOf<S>(run: WorkflowRun<S>, active: Set<Promise<unknown>>) {
  const graph = new StateGraph(State) as unknown as LooseGraph;
  const retryPolicy = {
    maxAttempts: run.attempts,
    initialInterval: 100,
    jitter: false,
    logWarning: false,
    retryOn: (error: unknown): boolean => !run.signal.aborted && run.mayRetry(error),
  };
  run.stages.forEach((stage, index) => {
    const following = run.stages[index + 1]?.name ?? END;
    graph.addNode(stage.name, nodeOf(stage, active), { retryPolicy });
    if (index === 0) graph.addEdge(START, stage.name);
    if (stage.next === undefined) graph.addEdge(stage.name, following);
    else graph.addConditionalEdges(stage.name, ({ data }) => stage.next?.(data as S) ?? following);
  });
  return graph;
}

/** The builder's type grows with each node's name, which names known only at run time cannot follow. */
interface LooseGraph {
  addNode(name: string, node: ReturnType<typeof nodeOf>, options: object): unknown;
  addEdge(from: string, to: string): unknown;
  addConditionalEdges(from: string, choose: (channels: Channels) => string): unknown;
  compile(options: { checkpointer: PostgresSaver }): {
    stream(input: object | null, options: object): Promise<AsyncIterable<unknown>>;
  };
}

function nodeOf<S>(stage: Stage<S>, active: Set<Promise<unknown>>) {
  let attempt = 0;
  let failed: { error?: unknown } = {};
  return async ({ data }: Channels, config: LangGraphRunnableConfig): Promise<Channels> => {
    attempt += 1;
    config.writer?.({ stage: stage.name, attempt, ...failed } satisfies Custom);
    const signal = config.signal ?? new AbortController().signal;
    const running = stage.run(data as S, { signal, attempt, ask: interrupt });
    active.add(running);
    try {
      const update = await running;
      // A workflow may come back to the stage: that is no further try.
      attempt = 0;
      return { data: update };
    } catch (error) {
      if (!isGraphBubbleUp(error)) failed = { error };
      throw error;
    } finally {
      active.delete(running);
    }
  };
}

async function* chunksOf<S>(
  mode: string,
  chunk: unknown,
  saver: NamedCheckpointSaver,
): AsyncGenerator<WorkflowChunk<S>> {
  if (mode === 'custom') yield { kind: 'started', ...(chunk as Custom) };
  if (mode === 'updates') {
    const { __interrupt__: asked } = chunk as { __interrupt__?: readonly { id: string; value: unknown }[] };
    if (asked) yield { kind: 'asked', questions: asked.map(({ id, value }) => ({ id, question: value })) };
    for (const [stage, { data }] of Object.entries(chunk as Record<string, Partial<Channels>>)) {
      // Beside the stages, what was taken over from an earlier run is told under a name of the framework's own. A stage
      // without data got its answer and failed.
      if (!stage.startsWith('__') && data) yield { kind: 'finished', stage, update: data as Partial<S> };
    }
  }
  if (mode === 'checkpoints') {
    const { config, values } = chunk as { config: { configurable: { checkpoint_id: string } }; values: Channels };
    const id = config.configurable.checkpoint_id;
    await saver.durable(id);
    // The framework's very first checkpoint holds the input in transit only.
    if (Object.keys(values.data).length > 0) yield { kind: 'checkpoint', id, state: values.data as Partial<S> };
  }
}
