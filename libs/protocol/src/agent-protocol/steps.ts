import type { ArtifactBody, ConfirmationBody, ErrorBody, EventType, LoggedEvent, Payload } from '#lib/domain';
import { encodeArtifact } from './tasks.js';
import type { Artifact, FreeObject, Step, StreamedStatus } from './wire.js';

/** A step as an event left it. */
export interface StepChange {
  /** Of the event. */
  readonly seq: number;
  readonly step: Step;
}

/** What the task waits for, and with which event it began to. */
export interface OpenWait {
  readonly seq: number;
  readonly waitId: string;
  readonly confirmations: readonly ConfirmationBody[];
  readonly step: Step;
}

/** The last step of every task: the task itself, as far as it has come. */
export const END_STEP = 'step_end';
const MAX_ARTIFACTS = 100;

type Apply<T extends EventType> = (book: StepBook, payload: Payload<T>, event: LoggedEvent) => Step | undefined;

/**
 * The steps of one task, made of its events: each step its run tells of, each wait for somebody, and the end. The same
 * events make the same steps to the byte, whoever reads them and how often. A step that fails before the end is completed
 * here, since the wire has no word for it: what it came to is in its additional output.
 */
export class StepBook {
  /** By id, in the order they appeared. */
  readonly steps = new Map<string, Step>();
  readonly artifacts: ArtifactBody[] = [];
  /** Ids of steps by the ids that runs give them. */
  readonly ids = new Map<string, string>();
  /** With which event each step was over, or began to wait; one that is over once more comes later. */
  private readonly ready = new Map<string, number>();
  private wait: Omit<OpenWait, 'step'> | undefined;

  constructor(readonly taskId: string) {}

  /** The change of a step that the event stands for, if it does for one. Heartbeats and what is not known here change nothing. */
  apply(event: LoggedEvent): StepChange | undefined {
    const apply = APPLY[event.type] as Apply<EventType> | undefined;
    const step = apply?.(this, event.payload, event);
    if (!step) return undefined;
    this.steps.set(step.step_id, step);
    if (READY.has(event.type)) {
      this.ready.delete(step.step_id);
      this.ready.set(step.step_id, event.seq);
    }
    return { seq: event.seq, step };
  }

  /** The first step to be handed out whose event comes after `seq`: one that is over, or that waits for an answer. */
  nextAfter(seq: number): StepChange | undefined {
    for (const [stepId, at] of this.ready) {
      const step = this.steps.get(stepId)!;
      if (at > seq && (step.status !== 'running' || at === this.wait?.seq)) return { seq: at, step };
    }
    return undefined;
  }

  find(stepId: string): Step | undefined {
    return this.steps.get(stepId);
  }

  /** In the order they appeared, the end last. */
  list(): readonly Step[] {
    const end = this.end();
    return [...[...this.steps.values()].filter((step) => step !== end), ...(end ? [end] : [])];
  }

  end(): Step | undefined {
    return this.steps.get(END_STEP);
  }

  openWait(): OpenWait | undefined {
    const step = this.wait && this.find(stepIdOf(this.wait.seq));
    return this.wait && step && { ...this.wait, step };
  }

  /** What is being done: the newest step that is not over, at least the task itself. */
  current(): Step | undefined {
    return (
      this.list()
        .filter(({ step_id, status }) => step_id !== END_STEP && status === 'running')
        .at(-1) ?? this.end()
    );
  }

  startWait({ seq }: LoggedEvent, { wait_id, confirmations }: Payload<'task.waiting_for_input'>): void {
    this.wait = { seq, waitId: wait_id, confirmations };
  }

  endWait(): Step | undefined {
    const step = this.openWait()?.step;
    this.wait = undefined;
    return step;
  }

  /** Ends what is open without an event of its own. */
  closeOpen(state: string, error?: ErrorBody): void {
    for (const [id, step] of this.steps) {
      if (id === END_STEP || step.status !== 'running') continue;
      this.steps.set(id, {
        ...step,
        status: 'completed',
        additional_output: { ...step.additional_output, state, ...(error ? { error } : {}) },
      });
    }
  }

  /** A step that a run tells of; it may begin again after it has failed. */
  move(payload: Payload<'step.started'> | Payload<'step.completed'>, seq: number, moved: Moved): Step {
    const { step_id, step_name, attempt } = payload;
    const id = this.ids.get(step_id) ?? stepIdOf(seq);
    this.ids.set(step_id, id);
    const known = this.steps.get(id);
    return {
      ...EMPTY,
      task_id: this.taskId,
      step_id: id,
      name: step_name ?? known?.name ?? step_id,
      status: moved.state === 'running' ? 'running' : 'completed',
      output: moved.error?.message ?? null,
      additional_output: {
        step_id,
        state: moved.state,
        ...(attempt === undefined ? {} : { attempt }),
        ...(moved.error ? { error: moved.error } : {}),
      },
      artifacts: this.artifactsOf((artifact) => artifact.step_id === step_id),
    };
  }

  /** The task itself. */
  task(status: StreamedStatus, output: string | null, additional_output: FreeObject): Step {
    return {
      ...EMPTY,
      task_id: this.taskId,
      step_id: END_STEP,
      name: 'task',
      status,
      output,
      additional_output,
      artifacts: this.artifactsOf(({ kind }) => kind === 'produced'),
      is_last: status !== 'created' && status !== 'running',
    };
  }

  private artifactsOf(isMeant: (artifact: ArtifactBody) => boolean): readonly Artifact[] {
    return this.artifacts.filter(isMeant).slice(0, MAX_ARTIFACTS).map(encodeArtifact);
  }
}

interface Moved {
  readonly state: 'running' | 'completed' | 'failed' | 'cancelled';
  readonly error?: ErrorBody | undefined;
}

const EMPTY = {
  task_id: '',
  step_id: '',
  name: null,
  status: 'created',
  input: null,
  additional_input: {},
  output: null,
  additional_output: null,
  artifacts: [],
  is_last: false,
} as const satisfies Step;

function stepIdOf(seq: number): string {
  return `step_${seq}`;
}

/** Events with which a step is over, or can only be gone on with by whoever is handed it. */
const READY: ReadonlySet<EventType> = new Set<EventType>([
  'step.completed',
  'step.failed',
  'step.cancelled',
  'task.waiting_for_input',
  'task.succeeded',
  'task.failed',
  'task.cancelled',
]);

const LOST: ErrorBody = { code: 'lost', message: 'The run that worked on this step was lost.' };

const APPLY: { readonly [T in EventType]?: Apply<T> } = {
  'task.created': (book) => book.task('created', null, { state: 'queued' }),
  'task.started': (book) =>
    book.end()?.status === 'created' ? book.task('running', null, { state: 'running' }) : undefined,
  'task.retrying': (book) => void book.closeOpen('failed', LOST),
  'task.waiting_for_input': (book, payload, event) => {
    book.startWait(event, payload);
    return waitStep(book.taskId, event.seq, payload);
  },
  'task.resumed': (book, { decided_by, decisions }) => {
    const step = book.endWait();
    if (!step) return undefined;
    const input = decisions.find((decision) => typeof decision['input'] === 'string')?.['input'];
    return {
      ...step,
      status: 'completed',
      input: typeof input === 'string' ? input : null,
      additional_output: { ...step.additional_output, state: 'answered', decided_by, decisions },
    };
  },
  'task.succeeded': (book, { result, usage }) => {
    const { text, data, metadata } = result;
    return book.task('completed', text, {
      state: 'succeeded',
      ...(data === undefined ? {} : { data }),
      metadata,
      ...(usage ? { usage } : {}),
    });
  },
  'task.failed': (book, { error, usage }) => {
    book.endWait();
    book.closeOpen('failed', error);
    return book.task('failed', error.message, { state: 'failed', error, ...(usage ? { usage } : {}) });
  },
  'task.cancelled': (book, { reason }) => {
    book.endWait();
    book.closeOpen('cancelled');
    return book.task('cancelled', reason ?? null, { state: 'cancelled' });
  },
  'step.started': (book, payload, { seq }) => book.move(payload, seq, { state: 'running' }),
  'step.retrying': (book, payload, { seq }) => book.move(payload, seq, { state: 'running' }),
  'step.completed': (book, payload, { seq }) => book.move(payload, seq, { state: 'completed' }),
  'step.failed': (book, payload, { seq }) => book.move(payload, seq, { state: 'failed', error: payload.error }),
  'step.cancelled': (book, payload, { seq }) => book.move(payload, seq, { state: 'cancelled' }),
  'artifact.created': (book, { artifact }) => void book.artifacts.push(artifact),
};

/** The events that steps are made of. */
export const STEP_EVENTS = Object.keys(APPLY) as readonly EventType[];

function waitStep(taskId: string, seq: number, payload: Payload<'task.waiting_for_input'>): Step {
  const { wait_id, confirmations, expires_at } = payload;
  return {
    ...EMPTY,
    task_id: taskId,
    step_id: stepIdOf(seq),
    name: [...new Set(confirmations.map(({ kind }) => kind))].join(', '),
    status: 'running',
    output: confirmations.map(promptOf).join('\n'),
    additional_output: {
      state: 'waiting',
      wait_id,
      expires_at,
      pending: confirmations.map(({ digest: _digest, expires_at: _expires, ...item }) => item),
    },
  };
}

function promptOf({ prompt, tool_name, arguments: args, kind }: ConfirmationBody): string {
  if (prompt !== undefined) return prompt;
  return tool_name === undefined ? kind : `${tool_name}(${args === undefined ? '' : JSON.stringify(args)})`;
}

/** The step in the words of the schema, which knows no failed or cancelled ones: additional output says what it came to. */
export function encodeStep(step: Step): Step<'created' | 'running' | 'completed'> {
  const { status } = step;
  return { ...step, status: status === 'failed' || status === 'cancelled' ? 'completed' : status };
}
