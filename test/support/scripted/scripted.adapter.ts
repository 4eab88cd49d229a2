import {
  AdapterError,
  BudgetError,
  type RunContext,
  type RunnerAdapter,
  type RunnerEvent,
  type RunnerItem,
  ToolError,
} from '#lib/adapters/contract';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeEffect } from './effects.js';
import { type ScriptStep, scriptOf } from './script.js';

interface Stage {
  readonly context: RunContext;
  readonly signal: AbortSignal;
  /** Place of the step behind the one being played. */
  readonly next: number;
}

type Play = (step: never, stage: Stage) => AsyncIterable<RunnerItem> | Iterable<RunnerItem>;

/** Plays a script, faults included. */
export class ScriptedAdapter implements RunnerAdapter {
  async *start(context: RunContext, signal: AbortSignal): AsyncIterable<RunnerItem> {
    const script = scriptOf(context.options, context.input, context.context);
    const { next: from = 0, begun } = (context.checkpoint ?? {}) as { readonly next?: number; readonly begun?: string };
    if (begun !== undefined) yield effectEvent('tool.failed', begun, { error: OUTCOME_UNKNOWN });
    for (let place = from; place < script.length; place += 1) {
      const step = script[place]!;
      if (step.run !== undefined && step.run !== context.runNo) continue;
      const isLast = 'result' in step && step.stubborn === true;
      if (signal.aborted && !isLast)
        throw new AdapterError('cancelled', 'The script was stopped.', { effects: 'none' });
      if ('end' in step) return;
      yield* playOf(step)(step as never, { context, signal, next: place + 1 });
      if ('pause' in step) return;
    }
  }

  async health(): Promise<void> {}

  async close(): Promise<void> {}
}

function playOf(step: ScriptStep): Play {
  const name = Object.keys(step).find((key) => key in PLAYS);
  if (name === undefined) throw new Error(`the script has an unknown step: ${JSON.stringify(step)}`);
  return PLAYS[name as keyof typeof PLAYS];
}

type Step<K extends string> = Extract<ScriptStep, Readonly<Record<K, unknown>>>;

const PLAYS = {
  *repeat({ repeat, event }: Step<'repeat'>) {
    const text = JSON.stringify(event);
    const isTemplate = text.includes('{i}');
    for (let i = 0; i < repeat; i += 1) {
      const made = isTemplate ? (JSON.parse(text.replaceAll('{i}', String(i))) as typeof event) : event;
      yield { kind: 'event', ...made } as RunnerItem;
    }
  },
  *event({ event }: Step<'event'>, { context }: Stage) {
    const text = JSON.stringify(event).replaceAll('{run}', String(context.runNo));
    yield { kind: 'event', ...(JSON.parse(text) as typeof event) } as RunnerItem;
  },
  *checkpoint({ checkpoint }: Step<'checkpoint'>, { next }: Stage) {
    yield { kind: 'checkpoint', data: { next, data: checkpoint } } as RunnerItem;
  },
  async *wait_ms({ wait_ms, stubborn }: Step<'wait_ms'>, { signal }: Stage): AsyncIterable<RunnerItem> {
    await delay(wait_ms, undefined, stubborn ? { ref: false } : { signal }).catch(() => undefined);
  },
  async *until_file({ until_file, every_ms = 5, meanwhile }: Step<'until_file'>, { signal }: Stage) {
    while (!signal.aborted && !existsSync(until_file)) {
      await delay(every_ms, undefined, { signal }).catch(() => undefined);
      if (meanwhile) yield { kind: 'event', ...meanwhile } as RunnerItem;
    }
  },
  *throw({ throw: { kind, effects = 'none' } }: Step<'throw'>): Iterable<RunnerItem> {
    if (kind === 'budget') throw new BudgetError('The script has used up its budget.');
    if (kind === 'bug') throw new TypeError('the script has a bug');
    throw new AdapterError(kind, `The script failed: ${kind}.`, {
      effects,
      ...(effects === 'possible' ? { phase: 'observe', remoteReference: 'remote-1' } : {}),
    });
  },
  async *artifact({ artifact: { name, text, path: file = name } }: Step<'artifact'>, { context }: Stage) {
    const inside = path.join(context.workspace, name);
    await writeFile(inside, text);
    yield { kind: 'artifact', path: file, name, mediaType: 'text/plain' } as RunnerItem;
  },
  async *effect({ effect: file }: Step<'effect'>, { context, next }: Stage) {
    const token = `effect-${next}`;
    yield effectEvent('tool.invoked', token);
    yield { kind: 'checkpoint', data: { next, begun: token } } as RunnerItem;
    // The way out into the world is open when the call is in the log and the run is live.
    await context.tools.call('summarise', { text: 'It is done.' }, token);
    writeEffect(file, { taskId: context.taskId, runNo: context.runNo, token });
    yield effectEvent('tool.completed', token);
    yield { kind: 'checkpoint', data: { next } } as RunnerItem;
  },
  async *write({ write: { name, text } }: Step<'write'>, { context }: Stage): AsyncIterable<RunnerItem> {
    const file = path.join(context.workspace, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  },
  async *read({ read }: Step<'read'>, { context }: Stage) {
    const text = await readFile(path.join(context.workspace, read), 'utf8').catch(() => undefined);
    if (text !== undefined) yield { kind: 'result', result: { text, metadata: { model: 'scripted' } } } as RunnerItem;
  },
  async *tool({ tool: { name, args, id } }: Step<'tool'>, { context }: Stage) {
    const call = { tool_call_id: id, tool_name: name };
    yield toolEvent('tool.invoked', { ...call, arguments: args });
    try {
      yield toolEvent('tool.completed', { ...call, output: await context.tools.call(name, args, id) });
    } catch (error) {
      const { code, message } = error instanceof ToolError ? error : { code: 'failed', message: String(error) };
      // The platform tells a denial.
      if (code !== 'denied') yield toolEvent('tool.failed', { ...call, error: { code, message } });
    }
  },
  *pause({ pause }: Step<'pause'>, { next }: Stage) {
    yield { kind: 'checkpoint', data: { next } } as RunnerItem;
    yield { kind: 'pause', confirmations: pause } as RunnerItem;
  },
  *decided({ decided: { name, args, id } }: Step<'decided'>, { context }: Stage) {
    const decision = context.answer?.decisions.find(({ tool_call_id }) => tool_call_id === id);
    const call = { tool_call_id: id, tool_name: name };
    if (decision?.approved) {
      yield toolEvent('tool.invoked', { ...call, arguments: decision.edited_args ?? args });
      yield toolEvent('tool.completed', { ...call, output: 'made' });
    }
  },
  async *token_to({ token_to, audience }: Step<'token_to'>, { context }: Stage): AsyncIterable<RunnerItem> {
    const token = await context.taskToken(audience);
    await writeFile(`${token_to}.part`, token);
    await rename(`${token_to}.part`, token_to);
  },
  *tell({ tell }: Step<'tell'>, { context }: Stage) {
    const data = Object.fromEntries(tell.map((name) => [name, context[name]]));
    yield { kind: 'result', result: { text: 'told', data, metadata: { model: 'scripted' } } } as RunnerItem;
  },
  *result({ result, message_id, conversation }: Step<'result'>) {
    const body = typeof result === 'string' ? { text: result, metadata: { model: 'scripted' } } : result;
    yield { kind: 'result', result: body, messageId: message_id, conversation } as RunnerItem;
  },
  *block_ms({ block_ms }: Step<'block_ms'>): Iterable<RunnerItem> {
    const endMs = performance.now() + block_ms;
    while (performance.now() < endMs);
  },
  *crash(): Iterable<RunnerItem> {
    process.kill(process.pid, 'SIGKILL');
  },
  *garbage({ garbage }: Step<'garbage'>) {
    yield garbage as RunnerItem;
  },
};

const OUTCOME_UNKNOWN = { code: 'outcome_unknown', message: 'The run was lost while it was at this.' };

function effectEvent(type: string, token: string, more: object = {}): RunnerItem {
  return toolEvent(type, { tool_call_id: token, tool_name: 'summarise', ...more });
}

function toolEvent(type: string, payload: object): RunnerItem {
  return { kind: 'event', ...({ type, payload } as RunnerEvent) };
}
