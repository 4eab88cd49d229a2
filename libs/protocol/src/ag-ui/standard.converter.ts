import { EventType } from '@ag-ui/core';
import type { EventType as LogEventType, LoggedEvent, Payload, UsageBody } from '#lib/domain';
import type { AgUiEvent, RunView, ViewOptions } from './contract.js';
import { RUN_TIMEOUT, runCodeOfFailure } from './errors.js';
import { encodeInterrupt, isInterrupt } from './interrupts.js';
import { PrivateEvents } from './private.events.js';
import { Steps } from './steps.js';
import { Texts, Thoughts } from './texts.js';
import { artifactOf, ToolCalls } from './tool-calls.js';
import { UsageMeter } from './usage.js';

type Handlers = { readonly [T in LogEventType]: (payload: Payload<T>, event: LoggedEvent) => readonly AgUiEvent[] };

const nothing = (): readonly AgUiEvent[] => [];

/** The gateway's own mapping of the events of one run. */
export class StandardConverter {
  private readonly texts = new Texts();
  private readonly thoughts = new Thoughts();
  private readonly steps = new Steps();
  private readonly calls: ToolCalls;
  private readonly usage = new UsageMeter();
  private readonly privates: PrivateEvents;
  /** What the task tells of its usage is of all its runs. */
  private isFirst = false;
  /** A run that is stopped does not say again why. */
  private cancelReason: string | undefined;

  constructor(
    private readonly run: RunView,
    private readonly options: ViewOptions,
  ) {
    this.calls = new ToolCalls(options.toolCallArgs);
    this.privates = new PrivateEvents(run, options);
  }

  convert(event: LoggedEvent): readonly AgUiEvent[] {
    return (this.handlers[event.type] as (payload: unknown, event: LoggedEvent) => readonly AgUiEvent[])(
      event.payload,
      event,
    );
  }

  private readonly handlers: Handlers = {
    'task.created': () => {
      this.isFirst = true;
      return [];
    },
    'task.started': nothing,
    'task.waiting_for_input': ({ wait_id, confirmations }) => this.waiting(wait_id, confirmations),
    'task.resumed': ({ decisions }) => {
      this.calls.resumed(decisions);
      return [];
    },
    // What the lost run had open nobody closes any more.
    'task.retrying': () => [...this.texts.close(), ...this.thoughts.close(), ...this.steps.close()],
    'task.stalled': nothing,
    'task.recovered': nothing,
    'task.released': nothing,
    'task.cancel_requested': ({ reason }) => {
      this.cancelReason = reason;
      return [];
    },
    'task.cancelled': ({ reason }) => [this.cancelled(reason ?? this.cancelReason)],
    'task.succeeded': ({ result, usage }) => [
      {
        type: EventType.RUN_FINISHED,
        ...this.names,
        ...(this.run.profile === 'full' ? { outcome: { type: 'success' as const } } : {}),
        result,
        ...this.totals(usage),
      },
    ],
    'task.failed': ({ error, usage }) => [
      {
        type: EventType.RUN_ERROR,
        message: error.message,
        code: runCodeOfFailure(error.code),
        ...this.totals(usage),
      },
    ],

    'step.started': ({ step_id, step_name }) => this.steps.started(step_id, step_name),
    'step.completed': ({ step_id }) => this.steps.finished(step_id),
    'step.failed': ({ step_id }) => this.steps.finished(step_id),
    'step.retrying': ({ step_id, step_name }) => this.steps.started(step_id, step_name),
    'step.cancelled': ({ step_id }) => this.steps.finished(step_id),

    'tool.invoked': (payload) => this.calls.invoked(payload),
    'tool.completed': (payload, event) => this.calls.completed(payload, ownIdOf(event)),
    'tool.failed': (payload, event) => this.calls.failed(payload, ownIdOf(event)),
    'tool.denied': (payload, event) => this.calls.denied(payload, ownIdOf(event)),
    'tool.arguments.delta': ({ tool_call_id, text }) => {
      this.calls.piece(tool_call_id, text);
      return [];
    },
    'tool.output.delta': nothing,

    'agent.request_confirmation': ({ confirmations }) => this.calls.asked(confirmations),
    'artifact.created': ({ artifact }) => [
      {
        type: EventType.CUSTOM,
        name: 'artifact',
        value: { ...artifactOf(artifact), url: `/v1/tasks/${this.run.taskId}/artifacts/${artifact.artifact_id}` },
      },
    ],
    heartbeat: nothing,

    'message.started': ({ message_id, role }) => {
      this.texts.started(message_id, role);
      return [];
    },
    'message.delta': ({ message_id, text }) => this.texts.delta(message_id, text),
    'message.completed': ({ message_id, role, text }) => this.texts.completed(message_id, role, text),
    'thinking.started': nothing,
    'thinking.delta': ({ message_id, text }) => (this.options.reasoning ? this.thoughts.delta(message_id, text) : []),
    'thinking.completed': ({ message_id, text }) =>
      this.options.reasoning ? this.thoughts.completed(message_id, text) : [],

    'model.usage': (payload) => (this.options.tokenUsage ? this.usage.called(payload) : []),
    'agent.event': (payload, event) => this.privates.convert(payload, ownIdOf(event)),
  };

  private get names(): Pick<RunView, 'threadId' | 'runId'> {
    return { threadId: this.run.threadId, runId: this.run.runId };
  }

  private totals(told: UsageBody | undefined): ReturnType<UsageMeter['totals']> {
    return this.options.tokenUsage ? this.usage.totals(this.isFirst ? told : undefined) : {};
  }

  /** An interrupt is never a success, and a call of the caller's own tool is never an interrupt. */
  private waiting(waitId: string, asked: Payload<'task.waiting_for_input'>['confirmations']): readonly AgUiEvent[] {
    const calls = this.calls.asked(asked);
    const interrupts = asked
      .filter(isInterrupt)
      .map((item) => encodeInterrupt(waitId, item, this.privates.subagents?.ownerOf(item.tool_call_id)));
    const end = { type: EventType.RUN_FINISHED, ...this.names, ...this.totals(undefined) } as const;
    if (interrupts.length > 0) return [...calls, { ...end, outcome: { type: 'interrupt', interrupts } }];
    const pendingToolCallIds = asked.map(({ tool_call_id }) => tool_call_id);
    // Consumers before 1.0 find out by themselves which calls have no result, and refuse to be told.
    if (this.run.profile === 'legacy') return [...calls, end];
    return [...calls, { ...end, outcome: { type: 'success', pendingToolCallIds } }];
  }

  private cancelled(reason: string | undefined): AgUiEvent {
    if (reason === RUN_TIMEOUT) {
      return {
        type: EventType.RUN_ERROR,
        message: 'The run took too long.',
        code: 'TIMEOUT_ERROR',
        ...this.totals(undefined),
      };
    }
    if (this.run.profile === 'legacy') {
      return {
        type: EventType.RUN_ERROR,
        message: 'The run was cancelled.',
        code: 'cancelled',
        ...this.totals(undefined),
      };
    }
    return { type: EventType.RUN_FINISHED, ...this.names, outcome: { type: 'cancelled' }, ...this.totals(undefined) };
  }
}

/** An id that nothing else in the thread has. */
function ownIdOf({ eventId, seq }: LoggedEvent): string {
  return eventId ?? `event-${seq}`;
}
