import type { ArtifactBody } from '#lib/domain';
import type { Artifact, FreeObject, Task } from './wire.js';

/** A task with what was asked of it, as JSON text; null: it is too long to be repeated. */
export interface TaskRecord {
  readonly taskId: string;
  readonly input: string | null;
  readonly context: string | null;
  readonly artifacts: readonly ArtifactBody[];
}

/** Schema `Task`. */
export function encodeTask({ taskId, input, context, artifacts }: TaskRecord): Task {
  return { task_id: taskId, ...encodeAsked(input, context), artifacts: artifacts.map(encodeArtifact) };
}

/** Schema `TaskRequestBody`, of a task that may have come by another wire: text is input, an object additional input. */
function encodeAsked(inputText: string | null, contextText: string | null): Pick<Task, 'input' | 'additional_input'> {
  const input = inputText === null ? null : (JSON.parse(inputText) as unknown);
  const context = contextText === null ? {} : (JSON.parse(contextText) as FreeObject);
  const beside = objectOf(Object.hasOwn(context, ADDITIONAL_INPUT) ? context[ADDITIONAL_INPUT] : undefined) ?? {};
  if (typeof input === 'string') return { input: input === '' ? null : input, additional_input: beside };
  if (Array.isArray(input)) return { input: textOf(input), additional_input: beside };
  return { input: null, additional_input: objectOf(input) ?? {} };
}

/** Where the additional input of a task that has an input as well is kept in its context. */
export const ADDITIONAL_INPUT = 'additional_input';

function objectOf(value: unknown): FreeObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as FreeObject) : undefined;
}

function textOf(parts: readonly unknown[]): string | null {
  const texts = (parts as readonly { readonly type?: unknown; readonly text?: unknown }[]).flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  );
  return texts.length > 0 ? texts.join('\n') : null;
}

/** Schema `Artifact`. What runners name may hold a path, which is split as this wire does it. */
export function encodeArtifact({ artifact_id, kind, name, relative_path }: ArtifactBody): Artifact {
  const [file = name] = name.split('/').slice(-1);
  return {
    artifact_id,
    agent_created: kind !== 'input',
    file_name: file === '' ? name : file,
    relative_path: relative_path ?? (name.includes('/') ? name : null),
  };
}
