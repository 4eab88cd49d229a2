import { AdapterError, type RunContext, type RunnerEvent, type RunnerItem } from '../contract/index.js';
import type { SiteState } from './site.stages.js';
import { SITE_FOLDER } from './site.stages.js';
import { describeSite } from './site.words.js';
import { ENTRY } from './site.writer.js';
import type { WorkflowChunk } from './workflow.client.js';
import { stageError } from './workflow.errors.js';

/** What a checkpoint item of this runner holds. */
export interface WorkflowCheckpoint {
  readonly checkpoint_id: string;
}

/** The request in a task's input: a string, `{request}`, or parts of text. */
export function requestOf(input: unknown): string {
  const text = textOf(input).trim();
  if (text === '') throw new AdapterError('rejected', 'The input holds no request.', { effects: 'none' });
  return text;
}

function textOf(input: unknown): string {
  if (typeof input === 'string') return input;
  if (Array.isArray(input))
    return input
      .map(textOf)
      .filter((text) => text !== '')
      .join('\n');
  if (typeof input !== 'object' || input === null) return '';
  const { request, text, data } = input as Record<string, unknown>;
  const found = request ?? text;
  return typeof found === 'string' ? found : data === undefined ? '' : textOf(data);
}

/** The checkpoint an earlier run of the task left, if it is one of ours. */
export function checkpointOf({ checkpoint }: Pick<RunContext, 'checkpoint'>): string | undefined {
  const id = (checkpoint as Partial<WorkflowCheckpoint> | null | undefined)?.checkpoint_id;
  return typeof id === 'string' ? id : undefined;
}

/** Tells a workflow's chunks as items of the run. */
export class Narrator {
  state: Partial<SiteState> = {};
  private readonly open = new Map<string, number>();

  constructor(private readonly runNo: number) {}

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
      case 'checkpoint':
        this.state = { ...this.state, ...chunk.state };
        yield { kind: 'checkpoint', data: { checkpoint_id: chunk.id } satisfies WorkflowCheckpoint };
    }
  }

  /** Closes what is open when the run fails. */
  *failed(error: unknown): Generator<RunnerItem> {
    for (const [stage, attempt] of this.open) {
      yield item({
        type: 'step.failed',
        payload: { step_id: this.stepId(stage), step_name: stage, attempt, error: stageError(error) },
      });
    }
    this.open.clear();
  }

  /** A step belongs to a run: what a lost run left open is failed for good, and this run's step is another. */
  private stepId(stage: string): string {
    return this.runNo === 1 ? stage : `${stage}.${String(this.runNo)}`;
  }

  private started(stage: string, attempt: number, error?: unknown): RunnerItem {
    const again = this.open.has(stage);
    this.open.set(stage, attempt);
    const step = { step_id: this.stepId(stage), step_name: stage, attempt };
    if (!again) return item({ type: 'step.started', payload: step });
    return item({ type: 'step.retrying', payload: { ...step, error: stageError(error) } });
  }

  private *finished(stage: string, update: Partial<SiteState>): Generator<RunnerItem> {
    const attempt = this.open.get(stage) ?? 1;
    const step = { step_id: this.stepId(stage), step_name: stage, attempt };
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
