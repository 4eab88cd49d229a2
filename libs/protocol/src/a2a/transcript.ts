import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk';
import type { ArtifactBody, EventType, LoggedEvent, LoggedEventOf } from '#lib/domain';
import { messageOfKey } from './answer.js';
import { EXTENSION, placeInLog } from './extension.js';
import { encodeArtifact, encodeReply, encodeResult, MessageTexts } from './outputs.js';
import { type ArtifactUrl, textPart } from './parts.js';
import { encodeAnswer, encodeQuestion } from './questions.js';
import { type ConfirmationState, failedState, isFinal, waitingState } from './state.js';

/** Whose events they are, and how they are told. */
export interface TranscriptTerms {
  readonly taskId: string;
  readonly contextId: string;
  readonly urlOf: ArtifactUrl;
  readonly confirmationState: ConfirmationState;
  /** What was asked at first. */
  readonly asked?: Message;
}

/** How much of a task is shown. */
export interface TaskView {
  /** Newest messages only; absent: all. */
  readonly historyLength?: number | undefined;
  readonly hasArtifacts: boolean;
}

/** Events that matter here, besides the pieces of a message that is being written. */
export const TOLD_EVENTS = [
  'task.created',
  'task.started',
  'task.waiting_for_input',
  'task.resumed',
  'task.succeeded',
  'task.failed',
  'task.cancelled',
  'message.completed',
  'artifact.created',
] as const satisfies readonly EventType[];

/**
 * A task of this protocol (A2A 1.0, "Task"), made of the events of its log alone: whoever has read the same events has the
 * same task, and each event says what has changed.
 */
export class TaskTranscript {
  private status: TaskStatus = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined };
  private readonly history: Message[];
  private readonly artifacts = new Map<string, Artifact>();
  /** What was too long for events: none of the agent's own outputs. */
  private readonly kept = new Map<string, ArtifactBody>();
  private readonly texts = new MessageTexts();
  private usage: unknown;
  private seq = 0;
  /** What the events that matter here change. */
  private readonly readers: { readonly [Type in EventType]?: (event: LoggedEventOf<Type>) => StreamResponse[] } = {
    'task.created': (event) => this.created(event),
    'task.started': (event) => this.started(event),
    'task.waiting_for_input': (event) => this.waits(event),
    'task.resumed': (event) => this.resumed(event),
    'task.succeeded': (event) => this.succeeded(event),
    'task.failed': (event) => this.failed(event),
    'task.cancelled': (event) => this.cancelled(event),
    'message.started': (event) => this.reply(event),
    'message.delta': (event) => this.reply(event),
    'message.completed': (event) => this.reply(event),
    'artifact.created': (event) => this.made(event),
  };

  constructor(private readonly terms: TranscriptTerms) {
    this.history = terms.asked ? [terms.asked] : [];
  }

  get state(): TaskState {
    return this.status.state;
  }

  /** What the event changes, in the order it is to be told. */
  apply(event: LoggedEvent): readonly StreamResponse[] {
    this.seq = Math.max(this.seq, event.seq);
    const changes = this.readers[event.type] as ((event: LoggedEvent) => StreamResponse[]) | undefined;
    return (changes?.(event) ?? []).map((change, part) => this.located(change, event.seq, part));
  }

  task({ historyLength, hasArtifacts }: TaskView): Task {
    const { taskId, contextId } = this.terms;
    return {
      id: taskId,
      contextId,
      status: this.status,
      artifacts: hasArtifacts ? [...this.artifacts.values()] : [],
      history: newest(this.history, historyLength),
      metadata: {
        [EXTENSION]: {
          seq: this.seq,
          number: this.seq * 8 + 7,
          ...(this.usage === undefined ? {} : { usage: this.usage }),
        },
      },
    };
  }

  private created(event: LoggedEvent): StreamResponse[] {
    this.status = { ...this.status, timestamp: event.timestamp };
    return [];
  }

  private started(event: LoggedEvent): StreamResponse[] {
    return this.state === TaskState.TASK_STATE_WORKING ? [] : [this.enter(event, TaskState.TASK_STATE_WORKING)];
  }

  private waits(event: LoggedEventOf<'task.waiting_for_input'>): StreamResponse[] {
    const { confirmations } = event.payload;
    const state = waitingState(confirmations, this.terms.confirmationState);
    return [this.enter(event, state, this.said(event, encodeQuestion(confirmations)))];
  }

  private resumed(event: LoggedEventOf<'task.resumed'>): StreamResponse[] {
    const working = this.enter(event, TaskState.TASK_STATE_WORKING);
    const { decisions, answer_key: key } = event.payload;
    const said = { ...this.said(event, encodeAnswer(decisions)), role: Role.ROLE_USER };
    this.history.push({ ...said, messageId: messageOfKey(key) ?? said.messageId });
    return [working];
  }

  private made({ payload: { artifact } }: LoggedEventOf<'artifact.created'>): StreamResponse[] {
    if (artifact.kind === 'offload') this.kept.set(artifact.artifact_id, artifact);
    return artifact.kind === 'produced' ? [this.output(encodeArtifact(artifact, this.terms.urlOf))] : [];
  }

  private succeeded(event: LoggedEventOf<'task.succeeded'>): StreamResponse[] {
    const { result, usage } = event.payload;
    this.usage = usage;
    const data = result.data === undefined ? [] : [this.output(encodeResult(result.data))];
    return [...data, ...this.whole(result.metadata), this.enter(event, TaskState.TASK_STATE_COMPLETED)];
  }

  /** Of a result that is too long for an event its messages say the beginning; all of it is in a file. */
  private whole({ artifact }: Readonly<Record<string, unknown>>): StreamResponse[] {
    const file = this.kept.get((artifact as Partial<ArtifactBody> | undefined)?.artifact_id ?? '');
    return file === undefined ? [] : [this.output(encodeArtifact(file, this.terms.urlOf))];
  }

  private failed(event: LoggedEventOf<'task.failed'>): StreamResponse[] {
    const { error, usage } = event.payload;
    this.usage = usage;
    const said = { ...this.said(event, [textPart(error.message)]), metadata: { [EXTENSION]: { code: error.code } } };
    return [this.enter(event, failedState(error), said)];
  }

  private cancelled(event: LoggedEventOf<'task.cancelled'>): StreamResponse[] {
    const { reason } = event.payload;
    const said = reason === undefined ? undefined : this.said(event, [textPart(reason)]);
    return [this.enter(event, TaskState.TASK_STATE_CANCELED, said)];
  }

  private enter(event: LoggedEvent, state: TaskState, message?: Message): StreamResponse {
    // What the task said while it waited becomes history when it says something else.
    if (this.status.message) this.history.push(this.status.message);
    this.status = { state, message, timestamp: event.timestamp };
    const { taskId, contextId } = this.terms;
    const metadata = isFinal(state) && this.usage !== undefined ? { usage: this.usage } : undefined;
    return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status: this.status, metadata } } };
  }

  private reply(event: LoggedEventOf<'message.started' | 'message.delta' | 'message.completed'>): StreamResponse[] {
    const chunk = this.texts.add(event);
    if (!chunk) return [];
    const { messageId, text, whole, append, lastChunk } = chunk;
    const { artifactId } = encodeReply(messageId, text);
    this.artifacts.set(artifactId, encodeReply(messageId, whole));
    return [this.artifactUpdate(encodeReply(messageId, text), append, lastChunk)];
  }

  private output(artifact: Artifact): StreamResponse {
    this.artifacts.set(artifact.artifactId, artifact);
    return this.artifactUpdate(artifact, false, true);
  }

  private artifactUpdate(artifact: Artifact, append: boolean, lastChunk: boolean): StreamResponse {
    const { taskId, contextId } = this.terms;
    const value = { taskId, contextId, artifact, append, lastChunk, metadata: undefined };
    return { payload: { $case: 'artifactUpdate', value } };
  }

  /** A message of the agent, by the id of the event it comes from. */
  private said({ eventId }: LoggedEvent, parts: Message['parts']): Message {
    const { taskId, contextId } = this.terms;
    const isOurs = parts.some(({ content }) => content?.$case === 'data');
    return {
      messageId: eventId ?? '',
      taskId,
      contextId,
      role: Role.ROLE_AGENT,
      parts,
      metadata: undefined,
      extensions: isOurs ? [EXTENSION] : [],
      referenceTaskIds: [],
    };
  }

  private located(change: StreamResponse, seq: number, part: number): StreamResponse {
    const { payload } = change;
    if (payload?.$case !== 'statusUpdate' && payload?.$case !== 'artifactUpdate') return change;
    const { usage } = (payload.value.metadata ?? {}) as { readonly usage?: unknown };
    const place = placeInLog(seq, part);
    const metadata = usage === undefined ? place : { [EXTENSION]: { ...(place[EXTENSION] as object), usage } };
    return { payload: { ...payload, value: { ...payload.value, metadata } } as typeof payload };
  }
}

function newest(history: readonly Message[], length: number | undefined): Message[] {
  if (length === undefined) return [...history];
  return length === 0 ? [] : history.slice(-length);
}
