import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveSite } from './site.archive.js';
import { startSite, syntaxProblem } from './site.child.js';
import type { ModelUsage, SiteModel } from './site.model.js';
import { ENTRY, FILE_TYPES, type SiteFile, writeSite } from './site.writer.js';
import type { SitePlan } from './site.plan.js';
import { planSite } from './site.planner.js';
import { questionAbout, readReview } from './site.review.js';
import { checkPage, reportOf, type SiteReport, testSite } from './site.tester.js';
import type { StageGate } from './stage.gate.js';
import { canFallBack, StageRetryError } from './workflow.errors.js';
import type { Stage, StageTools } from './workflow.client.js';

/** What the stages hand on; plain JSON, kept in the checkpoint. */
export interface SiteState {
  readonly request: string;
  readonly plan: SitePlan;
  /** `local`, or the model that planned. */
  readonly plannedBy: string;
  readonly files: readonly SiteFile[];
  readonly codeBy: 'templates' | 'model';
  /** The test stage ran the back end. */
  readonly executed: boolean;
  readonly report: SiteReport;
  /** Name of the archive in the workspace. */
  readonly archive: string;
  /** Where the model was of no use, and the builder's own way was taken. */
  readonly fallbacks: readonly string[];
  readonly usage: ModelUsage;
  /** What the last review came to. */
  readonly accepted: boolean;
}

export interface SiteStagesOptions {
  readonly workspace: string;
  readonly gate: StageGate;
  readonly model?: SiteModel;
  /** Who writes the code. */
  readonly code: 'templates' | 'model';
  /** Code a model wrote may be run. */
  readonly execute: boolean;
  /** The plan is shown to somebody before it is built. */
  readonly review: boolean;
}

/** Tries of a model before the builder goes its own way. */
const MODEL_TRIES = 2;
/** Folder of the site in the workspace. */
export const SITE_FOLDER = 'site';

/** The stages of the site builder, in order. */
export function siteStages(options: SiteStagesOptions): Stage<SiteState>[] {
  const site = new SiteStages(options);
  const review: Stage<SiteState> = {
    name: 'review',
    run: async ({ plan }, tools) => readReview(tools.ask(questionAbout(plan))),
    next: ({ accepted }) => (accepted ? undefined : 'plan'),
  };
  return [
    { name: 'plan', run: (state, tools) => site.plan(state, tools) },
    ...(options.review ? [review] : []),
    { name: 'write', run: (state, tools) => site.write(state, tools) },
    { name: 'test', run: (state, tools) => site.test(state, tools) },
    { name: 'package', run: (state) => site.package(state) },
  ];
}

class SiteStages {
  private readonly directory: string;

  constructor(private readonly options: SiteStagesOptions) {
    this.directory = join(options.workspace, SITE_FOLDER);
  }

  async plan({ request, fallbacks = [], usage }: SiteState, tools: StageTools): Promise<Partial<SiteState>> {
    const { model } = this.options;
    const draft = planSite(request);
    if (model === undefined) return { plan: draft, plannedBy: 'local' };
    const planned = await this.byModel(tools, () => model.plan(request, draft, tools.signal));
    return planned === undefined
      ? { plan: draft, plannedBy: 'local', fallbacks: [...fallbacks, 'plan'], usage: model.usageSince(usage) }
      : { plan: planned, plannedBy: model.name, usage: model.usageSince(usage) };
  }

  async write({ plan, fallbacks = [], usage }: SiteState, tools: StageTools): Promise<Partial<SiteState>> {
    const { model, code } = this.options;
    const files = writeSite(plan);
    if (model === undefined || code === 'templates') return { files, codeBy: 'templates' };
    const written = await this.byModel(tools, async () => {
      const contents = await model.code(plan, tools.signal);
      const mixed = files.flatMap((file) => mix(file, contents));
      const problem = await this.parse(mixed, tools.signal);
      if (problem !== undefined) throw model.wrong(problem);
      return mixed;
    });
    return written === undefined
      ? { files, codeBy: 'templates', fallbacks: [...fallbacks, 'code'], usage: model.usageSince(usage) }
      : { files: written, codeBy: 'model', usage: model.usageSince(usage) };
  }

  async test({ plan, files, codeBy }: SiteState, { signal }: StageTools): Promise<Partial<SiteState>> {
    if (codeBy === 'model' && !this.options.execute) {
      const page = files.find(({ name }) => name === ENTRY)?.content ?? '';
      return { report: reportOf([{ name: 'code: parses', ok: true }, ...checkPage(plan, page)]), executed: false };
    }
    await this.put(files);
    const report = await this.options.gate.run(() => this.use(plan, codeBy, signal), signal);
    await rm(join(this.directory, 'data'), { recursive: true, force: true });
    return { report, executed: true };
  }

  async package({ plan, files }: SiteState): Promise<Partial<SiteState>> {
    await this.put(files);
    const archive = `${plan.collection}.zip`;
    await writeFile(join(this.options.workspace, archive), archiveSite(files, plan.collection));
    return { archive };
  }

  /** The model's work, or undefined when it was of no use twice; the try between is a retry of the stage. */
  private async byModel<T>({ attempt, signal }: StageTools, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !canFallBack(error)) throw error;
      if (attempt < MODEL_TRIES) throw new StageRetryError('The model was of no use.', { cause: error });
      return undefined;
    }
  }

  private async use(plan: SitePlan, codeBy: SiteState['codeBy'], signal: AbortSignal): Promise<SiteReport> {
    try {
      const child = await startSite(this.directory, signal);
      try {
        return await testSite(plan, child, signal);
      } finally {
        await child.stop();
      }
    } catch (error) {
      // Ours is expected to run; that a model's does not is what the test found out.
      if (signal.aborted || codeBy === 'templates') throw error;
      return reportOf([{ name: 'back end: starts and answers for 10 seconds', ok: false }]);
    }
  }

  private async parse(files: readonly SiteFile[], signal: AbortSignal): Promise<string | undefined> {
    await this.put(files);
    for (const { name, mediaType } of files) {
      // The page's script is a module too; Node tells modules by their extension.
      const path = join(this.directory, name.replace(/\.js$/, '.check.mjs'));
      if (mediaType !== 'text/javascript') continue;
      if (name.endsWith('.js')) await writeFile(path, files.find((file) => file.name === name)?.content ?? '');
      const problem = await syntaxProblem(path, signal);
      if (name.endsWith('.js')) await rm(path);
      if (problem !== undefined) return `${name}: ${problem}`;
    }
    return undefined;
  }

  /** A run that goes on elsewhere finds an empty workspace, so each stage that needs the files writes them. */
  private async put(files: readonly SiteFile[]): Promise<void> {
    await mkdir(join(this.directory, 'data'), { recursive: true });
    for (const { name, content } of files) {
      if (Object.hasOwn(FILE_TYPES, name)) await writeFile(join(this.directory, name), content);
    }
  }
}

/** The model's code instead of ours; the rules of our own back end would only mislead beside it. */
function mix(file: SiteFile, contents: Readonly<Record<string, string>>): SiteFile[] {
  if (file.name === 'records.mjs') return [];
  return [{ ...file, content: contents[file.name] ?? file.content }];
}
