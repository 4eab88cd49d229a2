import { DETAILS, type LoggedEvent } from '#lib/domain';
import { type Piece, type Rule, Scene } from './event.scene.js';
import { RULES } from './event.rules.js';
import { REMOTE_EVENTS, type RemoteEvent } from './remote-event.js';

/** Events of the wire that one event of the log may become. */
const SPREAD = 8;
/** Where in a UUID's digits its version stands. */
const VERSION_AT = 12;

export interface EncoderOptions {
  /** Pauses are not told: somebody else answers them. */
  readonly hidesConfirms?: boolean;
}

/**
 * The log of one task as AgentScope's clients read it. To be given every event from the first one on: what some are spelt by
 * was said earlier, and a replay must have the same bytes.
 */
export class TaskEventEncoder {
  private readonly scene: Scene;

  constructor(
    taskId: string,
    private readonly options: EncoderOptions = {},
  ) {
    this.scene = new Scene(taskId);
  }

  encode(event: LoggedEvent): readonly RemoteEvent[] {
    const { seq, type, payload, eventId, timestamp } = event;
    // Heartbeats: the stream has comments of its own for that.
    if (seq === 0) return [];
    const { scene } = this;
    scene.timestamp = timestamp;
    scene.eventHex = eventId?.slice('evt_'.length) ?? '';
    const rule = RULES[type] as Rule<typeof type>;
    return rule(payload as never, scene)
      .filter((piece) => this.isShown(piece))
      .map((piece) => this.complete(piece, seq));
  }

  /** As the publisher filters: by what the task was submitted with, whoever reads. */
  private isShown({ type }: Piece): boolean {
    if (type === 'REQUIRE_CONFIRM' && this.options.hidesConfirms) return false;
    return DETAILS.indexOf(REMOTE_EVENTS[type]) <= DETAILS.indexOf(this.scene.detail);
  }

  private complete({ at, type, source, ...fields }: Piece, seq: number): RemoteEvent {
    const { taskId, agentId, timestamp } = this.scene;
    const event = { seq: seq * SPREAD + at, type, taskId, agentId };
    if (!source) return { ...event, ...fields };
    const { type: eventType, ...members } = source;
    const payload = JSON.stringify({ type: eventType, id: this.idAt(at), createdAt: timestamp, ...members });
    return { ...event, timestamp, ...fields, eventType, payload };
  }

  /** 32 hex digits of its own for each piece: ids of the log have version 7 there, so the others can be nobody's. */
  private idAt(at: number): string {
    const { eventHex } = this.scene;
    if (at === 0) return eventHex;
    return `${eventHex.slice(0, VERSION_AT)}${(7 + at).toString(16)}${eventHex.slice(VERSION_AT + 1)}`;
  }
}
