import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isTerminalEvent } from '#lib/domain';
import { EventStream, type ReceivedFrame } from './event-stream.js';
import type { ClientHistory, Mutation, Subscription } from './history.js';
import { ADMIN_KEY } from './installation.js';

const ANSWER_MS = 20_000;
/** A stream is taken up anew after this long, at another gateway. */
const STREAM_MS = 20_000;

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A client that never gives up: it asks again, under the same task id, until it is answered, and writes everything down. */
export class LoadClient {
  private turn = 0;
  private isStopped = false;

  /** `gateways` answers the addresses there are at the moment. */
  constructor(
    private readonly history: ClientHistory,
    private readonly gateways: () => readonly string[],
  ) {}

  /** Makes everything that still waits or reads give up. */
  stop(): void {
    this.isStopped = true;
  }

  /** Resolves when the task was acknowledged. */
  async submit(taskId: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    await this.insist('task.submit', taskId, () => this.post('task.submit', taskId, '', { task_id: taskId, ...body }));
  }

  /** Resolves when the cancel was answered: 202, or 200 where the task is over. */
  async cancel(taskId: string): Promise<void> {
    await this.insist('task.cancel', taskId, () => this.post('task.cancel', taskId, `/${taskId}/cancel`, {}));
  }

  /** Answers a question twice at once, each time otherwise, until one of these is accepted or somebody else's was. */
  async decide(taskId: string, waitId: string): Promise<void> {
    const say = (input: string): Promise<Answer | undefined> =>
      this.post('task.resume', taskId, `/${taskId}/resume`, { wait_id: waitId, input });
    while (!this.isStopped) {
      const answers = await Promise.all([say('this'), say('that')]);
      const strange = answers.find((answer) => answer && ![202, 409, 503].includes(answer.status));
      if (strange) throw new Error(`an answer to ${taskId} was answered with ${strange.status}`);
      if (answers.some((answer) => answer?.status === 202 || answer?.status === 409)) return;
      await delay(100);
    }
  }

  /** Reads a task to its end, over as many connections as it takes; `onFrame` is told of each event. */
  async follow(taskId: string, onFrame: (frame: ReceivedFrame) => void = () => undefined): Promise<void> {
    const subscription = this.history.subscribe(taskId);
    while (!subscription.isComplete && !this.isStopped) {
      const stream = await this.open(subscription);
      if (stream === undefined) await delay(100);
      else await this.read(stream, subscription, onFrame);
    }
  }

  /** Undefined when the gateway is gone or cannot serve it now. */
  private async open({ taskId, events }: Subscription): Promise<EventStream | undefined> {
    const headers = { 'last-event-id': String(events.at(-1)?.seq ?? 0) };
    const url = `${this.next()}/v1/tasks/${taskId}/events`;
    const stream = await EventStream.open(url, { key: ADMIN_KEY, headers }).catch(() => undefined);
    if (stream === undefined || stream.status === 200) return stream;
    stream.close();
    if (stream.status === 503) return undefined;
    throw new Error(`the stream of ${taskId} was answered with ${stream.status}`);
  }

  private async read(
    stream: EventStream,
    subscription: Subscription,
    onFrame: (frame: ReceivedFrame) => void,
  ): Promise<void> {
    const limit = setTimeout(() => stream.close(), STREAM_MS);
    let isEnd = false;
    try {
      for await (const frame of stream) {
        if (frame.id === undefined) continue;
        subscription.events.push({ seq: Number(frame.id), data: frame.data, atMs: Date.now() });
        isEnd = isTerminalEvent(frame.event);
        onFrame(frame);
      }
      subscription.isComplete = isEnd;
    } catch {
      // A connection that was cut: what came over it is written down, the next one goes on behind that.
    } finally {
      clearTimeout(limit);
      stream.close();
    }
  }

  private async insist(action: Mutation, taskId: string, ask: () => Promise<Answer | undefined>): Promise<void> {
    while (!this.isStopped) {
      const answer = await ask();
      if (answer?.status === 202 || answer?.status === 200) return;
      if (answer !== undefined && answer.status !== 503) {
        throw new Error(`${action} of ${taskId} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      await delay(100);
    }
  }

  private async post(action: Mutation, taskId: string, path: string, body: unknown): Promise<Answer | undefined> {
    const requestId = randomUUID();
    const sent = this.history.send(action, taskId, requestId);
    const headers = {
      authorization: `Bearer ${ADMIN_KEY}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    };
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await fetch(`${this.next()}/v1/tasks${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal }); // prettier-ignore
      const answer = (await response.json()) as Record<string, unknown>;
      sent.status = response.status;
      return { status: response.status, body: answer };
    } catch {
      return undefined;
    }
  }

  private next(): string {
    const gateways = this.gateways();
    this.turn += 1;
    return gateways[this.turn % gateways.length] ?? 'http://127.0.0.1:9';
  }
}
