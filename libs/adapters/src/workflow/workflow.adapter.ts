import {
  type AdapterEnvironment,
  AdapterError,
  BudgetError,
  type RunContext,
  type RunnerAdapter,
  type RunnerItem,
  textInputOf,
} from '../contract/index.js';
import { SiteModel } from './site.model.js';
import { requestOf } from './site.request.js';
import { siteStages, type SiteState } from './site.stages.js';
import { StageGate } from './stage.gate.js';
import { checkCheckpoints, type CheckpointPool, createCheckpointPool, runWorkflow } from './workflow.client.js';
import { mayRetryStage, toAdapterError } from './workflow.errors.js';
import { answersTo, checkpointOf } from './workflow.answers.js';
import { Narrator } from './workflow.mapping.js';

/** Built back ends under test at the same time; each is a process. */
const CHILDREN = 2;
const STAGE_ATTEMPTS = 3;

/** Runs the site builder's workflow. What it keeps between runs is its connections. */
class WorkflowAdapter implements RunnerAdapter {
  private readonly gate = new StageGate(CHILDREN);

  constructor(
    private readonly pool: CheckpointPool,
    private readonly environment: AdapterEnvironment,
  ) {}

  async *start(context: RunContext, signal: AbortSignal): AsyncGenerator<RunnerItem> {
    const narrator = new Narrator(context.runNo, checkpointOf(context)?.checkpoint_id);
    const wall = wallOf(context);
    try {
      if (signal.aborted) throw new AdapterError('cancelled', 'The run was stopped.', { effects: 'none' });
      for await (const chunk of this.workflow(context, AbortSignal.any([signal, wall]))) yield* narrator.items(chunk);
    } catch (error) {
      if (!signal.aborted) yield* narrator.failed(error);
      if (wall.aborted && !signal.aborted) throw new BudgetError('The budget of time is used up.');
      throw toAdapterError(error, signal);
    }
    yield* narrator.ended(this.environment.model?.name);
  }

  async health(): Promise<void> {
    try {
      await checkCheckpoints(this.pool);
    } catch (error) {
      throw toAdapterError(error, new AbortController().signal);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private workflow(context: RunContext, signal: AbortSignal): ReturnType<typeof runWorkflow<SiteState>> {
    const { model, executeModelCode } = this.environment;
    const checkpoint = checkpointOf(context);
    const answers = answersTo(checkpoint, context.answer);
    return runWorkflow<SiteState>({
      stages: siteStages({
        workspace: context.workspace,
        gate: this.gate,
        code: context.options.code === 'model' ? 'model' : 'templates',
        execute: executeModelCode,
        review: context.options.review === true,
        ...(model === undefined ? {} : { model: new SiteModel(model, context.budgets) }),
      }),
      pool: this.pool,
      threadId: context.taskKey,
      input: { request: requestOf(textInputOf(context)) },
      attempts: STAGE_ATTEMPTS,
      mayRetry: mayRetryStage,
      signal,
      ...(checkpoint === undefined ? {} : { checkpointId: checkpoint.checkpoint_id }),
      ...(answers === undefined ? {} : { answers }),
    });
  }
}

function wallOf({ budgets: { wallSeconds } }: RunContext): AbortSignal {
  return wallSeconds === undefined ? new AbortController().signal : AbortSignal.timeout(wallSeconds * 1000);
}

export function createWorkflowAdapter(environment: AdapterEnvironment): RunnerAdapter {
  return new WorkflowAdapter(createCheckpointPool(environment.databaseUrl), environment);
}
