import { call } from '../../support/installation.js';
import type { Place } from './driver.js';

/** The step of a frame, as far as its client reads it. */
export interface StreamedStep {
  readonly task_id: string;
  readonly step_id: string;
  readonly status: string;
  readonly is_last: boolean;
  readonly artifacts: readonly unknown[];
  readonly name?: string | null;
  readonly output?: string | null;
}

export interface StreamedFrame {
  readonly id: string | undefined;
  /** Its `data` as sent. */
  readonly data: string;
  readonly step: StreamedStep;
}

export interface Observation {
  readonly status: number;
  readonly headers: Headers;
  readonly frames: readonly StreamedFrame[];
  /** Comments of the stream, each with whether a blank line came right after it. */
  readonly comments: readonly boolean[];
  /** From the last frame to the end of the body, in ms. */
  readonly closedAfterMs: number;
}

const WORDS = ['created', 'running', 'completed', 'failed', 'cancelled'];
const ENDS = ['completed', 'failed', 'cancelled'];
const MAX_FRAME_BYTES = 1_048_576;

export const pathOf = ({ url }: Place, rest = ''): string => `${url}/ap/v1/agent/tasks${rest}`;

/** Hands arguments over, as the client does: in `additional_input`, without an `input`. */
export async function createByArguments(place: Place, args: object, agentId?: string): Promise<string> {
  const headers = agentId === undefined ? undefined : { 'x-agent-id': agentId };
  const { status, body } = await call(pathOf(place), {
    key: place.key,
    body: { additional_input: args },
    ...(headers && { headers }),
  });
  if (status < 200 || status > 299) throw new Error(`create: ${status} ${JSON.stringify(body)}`);
  if (typeof body['task_id'] !== 'string' || !Array.isArray(body['artifacts'])) throw new Error('this is no task');
  return body['task_id'];
}

/** Reads the stream to its end by the rules of the client, and throws where it would call a frame malformed. */
export async function observe(place: Place, taskId: string, lastEventId?: string): Promise<Observation> {
  const response = await fetch(pathOf(place, `/${taskId}/steps?stream=true`), {
    headers: {
      authorization: `Bearer ${place.key}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  const reader = new FrameReader(taskId);
  let lastFrameMs = performance.now();
  if (response.ok) {
    // A body that is cut short, rather than ended, throws here.
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))) {
      const before = reader.frames.length;
      reader.read(chunk);
      if (reader.frames.length > before) lastFrameMs = performance.now();
    }
  } else await response.body?.cancel();
  const { status, headers } = response;
  const { frames, comments } = reader;
  return { status, headers, frames, comments, closedAfterMs: performance.now() - lastFrameMs };
}

class FrameReader {
  readonly frames: StreamedFrame[] = [];
  readonly comments: boolean[] = [];
  private readonly seen = new Map<string, string>();
  private rest = '';

  constructor(private readonly taskId: string) {}

  read(chunk: string): void {
    const blocks = (this.rest + chunk).split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) this.take(block);
  }

  private take(block: string): void {
    if (Buffer.byteLength(block) + 2 > MAX_FRAME_BYTES) throw new Error('the frame is too large');
    const lines = block.split('\n');
    const data: string[] = [];
    let id: string | undefined;
    for (const line of lines) {
      if (line.startsWith(':')) this.comments.push(lines.length === 1);
      const [, field, value] = /^(data|id): ?(.*)$/s.exec(line) ?? [];
      if (field === 'data') data.push(value!);
      if (field === 'id') id = value;
    }
    if (data.length > 0) this.dispatch(id, data.join('\n'));
  }

  private dispatch(id: string | undefined, data: string): void {
    const step = check(JSON.parse(data) as StreamedStep, this.taskId);
    if (id !== undefined && !/^[\x21-\x7e]+$/.test(id)) throw new Error(`the id ${id} cannot be a header`);
    if (id !== undefined && (this.seen.get(id) ?? data) !== data) throw new Error(`the id ${id} has other bytes`);
    if (id !== undefined && this.seen.has(id)) return;
    if (id !== undefined) this.seen.set(id, data);
    this.frames.push({ id, data, step });
  }
}

const isText = (value: unknown): boolean => value === undefined || value === null || typeof value === 'string';

/** What the client asks of an envelope, and of what ends a task. */
const RULES: readonly (readonly [string, (step: StreamedStep, taskId: string) => boolean])[] = [
  ['another task', (step, taskId) => step.task_id === taskId],
  ['no step_id', ({ step_id }) => typeof step_id === 'string' && step_id !== ''],
  ['no word for its status', ({ status }) => WORDS.includes(status)],
  ['no is_last', ({ is_last }) => typeof is_last === 'boolean'],
  ['no artifacts', ({ artifacts }) => Array.isArray(artifacts)],
  ['an output or a name that is no text', ({ output, name }) => isText(output) && isText(name)],
  ['a last step that has not ended', ({ is_last, status }) => !is_last || ENDS.includes(status)],
  ['an end before the last step', ({ is_last, status }) => is_last || !['failed', 'cancelled'].includes(status)],
];

function check(step: StreamedStep, taskId: string): StreamedStep {
  const faults = RULES.filter(([, holds]) => !holds(step, taskId)).map(([fault]) => fault);
  if (faults.length > 0) throw new Error(`malformed: ${faults.join(', ')}`);
  return step;
}
