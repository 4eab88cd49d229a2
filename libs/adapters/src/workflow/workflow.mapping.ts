import type { RunnerEvent, RunnerItem } from '../contract/index.js';
import type { SiteState } from './site.stages.js';
import { SITE_FOLDER } from './site.stages.js';
import { describeSite } from './site.words.js';
import { ENTRY } from './site.writer.js';
import { pauseItems, type WorkflowCheckpoint } from './workflow.answers.js';
import type { AskedQuestion, WorkflowChunk } from './workflow.client.js';
import { stageError } from './workflow.errors.js';

/** Tells a workflow's chunks as items of the run. */
export class Narrator {
  state: Partial<SiteState> = {};
  private readonly open = new Map<string, { readonly stepId: string; readonly attempt: number }>();
  private readonly visits = new Map<string, number>();
  private checkpointId: string | undefined;
  private questions: readonly AskedQuestion[] = [];

  /** `from`: the checkpoint this run goes on from. */
  constructor(
    private readonly runNo: number,
    private readonly from?: string,
  ) {}

  *items(chunk: WorkflowChunk<SiteState>): Generator<RunnerItem> {
    switch (chunk.kind) {
      case 'started':
        yield this.started(chunk.stage, chunk.attempt, chunk.error);
        return;
      case 'finished':
        // What an earlier run had finished but not told is told now, whole.
        if (!this.open.has(chunk.stage)) yield this.started(chunk.stage, 1);
        yield* this.finished(chunk.stage, chunk.update);
        return;
      case 'asked':
        // Until the workflow has ended nobody may answer.
        this.questions = chunk.questions;
        return;
      case 'checkpoint':
        this.checkpointId = chunk.id;
        this.state = { ...this.state, ...chunk.state };
        // The one this run goes on from is told again. It knows nothing of the answer, which the platform keeps only until
        // the next checkpoint.
        if (chunk.id === this.from) return;
        yield { kind: 'checkpoint', data: { checkpoint_id: chunk.id } satisfies WorkflowCheckpoint };
    }
  }

  /** The end of a run whose workflow has ended. */
  *ended(configured: string | undefined): Generator<RunnerItem> {
    if (this.questions.length === 0) {
      yield resultOf(this.state, configured);
      return;
    }
    // A stage that asks has done what it can in this run; the answer is read in a step of the next.
    for (const [stage, step] of this.open) yield item({ type: 'step.completed', payload: told(stage, step) });
    yield* pauseItems(this.questions, { checkpointId: this.checkpointId, runNo: this.runNo });
  }

  /** Closes what is open when the run fails. */
  *failed(error: unknown): Generator<RunnerItem> {
    for (const [stage, step] of this.open) {
      yield item({ type: 'step.failed', payload: { ...told(stage, step), error: stageError(error) } });
    }
    this.open.clear();
  }

  /**
   * A step belongs to a run: what a lost run left open is failed for good, and this run's step is another. A workflow that
   * comes back to a stage begins another one, too.
   */
  private visit(stage: string): string {
    const visit = (this.visits.get(stage) ?? 0) + 1;
    this.visits.set(stage, visit);
    if (visit > 1) return `${stage}.${this.runNo}.${visit}`;
    return this.runNo === 1 ? stage : `${stage}.${this.runNo}`;
  }

  private started(stage: string, attempt: number, error?: unknown): RunnerItem {
    const before = this.open.get(stage);
    const step = { stepId: before?.stepId ?? this.visit(stage), attempt };
    this.open.set(stage, step);
    if (!before) return item({ type: 'step.started', payload: told(stage, step) });
    return item({ type: 'step.retrying', payload: { ...told(stage, step), error: stageError(error) } });
  }

  private *finished(stage: string, update: Partial<SiteState>): Generator<RunnerItem> {
    const step = told(stage, this.open.get(stage)!);
    const before = this.state;
    this.state = { ...before, ...update };
    if (update.usage !== undefined) {
      const usage = spentSince(before.usage, update.usage);
      yield item({ type: 'model.usage', payload: { model: this.state.plannedBy ?? 'model', usage } });
    }
    if (update.archive !== undefined) yield* this.artifacts(step.step_id);
    yield item({
      type: 'agent.event',
      payload: { framework: 'langgraph', event: { updates: { [stage]: briefly(update) } } },
    });
    yield item({ type: 'step.completed', payload: step });
    this.open.delete(stage);
  }

  private *artifacts(stepId: string): Generator<RunnerItem> {
    const { files = [], archive = '' } = this.state;
    for (const { name, mediaType } of files)
      yield { kind: 'artifact', path: `${SITE_FOLDER}/${name}`, name, mediaType, stepId };
    yield { kind: 'artifact', path: archive, name: archive, mediaType: 'application/zip', stepId };
  }
}

/** The end of a run whose stages are all done. */
export function resultOf(state: Partial<SiteState>, configured: string | undefined): RunnerItem {
  const { plan, files = [], report, plannedBy = 'local', fallbacks = [], usage } = state as SiteState;
  const byModel = plannedBy !== 'local' || state.codeBy === 'model';
  return {
    kind: 'result',
    result: {
      text: describeSite(state as SiteState),
      data: {
        title: plan.title,
        entry: ENTRY,
        files: files.map(({ name }) => name),
        tests: { passed: report.passed, failed: report.failed },
      },
      metadata: {
        model: byModel && configured !== undefined ? configured : 'local',
        ...(fallbacks.length > 0 ? { configured_model: configured, local_fallback: fallbacks } : {}),
      },
    },
    ...(usage === undefined ? {} : { usage }),
  };
}

function item(event: RunnerEvent): RunnerItem {
  return { kind: 'event', ...event };
}

function told(
  stage: string,
  { stepId, attempt }: { readonly stepId: string; readonly attempt: number },
): { step_id: string; step_name: string; attempt: number } {
  return { step_id: stepId, step_name: stage, attempt };
}

function spentSince(before: SiteState['usage'] | undefined, now: SiteState['usage']): SiteState['usage'] {
  return {
    input_tokens: now.input_tokens - (before?.input_tokens ?? 0),
    output_tokens: now.output_tokens - (before?.output_tokens ?? 0),
  };
}

/** An update as the framework told it, with the files' contents left to the artifacts. */
function briefly({ files, report, ...update }: Partial<SiteState>): object {
  return {
    ...update,
    ...(files === undefined ? {} : { files: files.map(({ name, content }) => ({ name, characters: content.length })) }),
    ...(report === undefined ? {} : { report: { passed: report.passed, failed: report.failed } }),
  };
}
