import type { Artifact } from '@a2a-js/sdk';
import type { ArtifactBody, EventBody } from '#lib/domain';
import { type ArtifactUrl, dataPart, part, textPart } from './parts.js';

/** A file that a task has made (A2A 1.0, "Artifact"). */
export function encodeArtifact(
  { artifact_id, name, media_type, size, sha256 }: ArtifactBody,
  urlOf: ArtifactUrl,
): Artifact {
  return {
    artifactId: artifact_id,
    name,
    description: '',
    parts: [part({ $case: 'url', value: urlOf(artifact_id) }, { mediaType: media_type, filename: name })],
    metadata: { size, sha256 },
    extensions: [],
  };
}

/** What an agent says is an output too, and no message ("Messages and Artifacts"): one artifact for each of its messages. */
export function encodeReply(messageId: string, text: string): Artifact {
  return {
    artifactId: `reply-${messageId}`,
    name: '',
    description: '',
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
  };
}

/** What a task came to, as data. */
export function encodeResult(data: unknown): Artifact {
  return {
    artifactId: 'result',
    name: 'result',
    description: '',
    parts: [dataPart(data)],
    metadata: undefined,
    extensions: [],
  };
}

/** A piece of a message, and all of it so far. */
export interface TextChunk {
  readonly messageId: string;
  readonly text: string;
  readonly whole: string;
  readonly append: boolean;
  readonly lastChunk: boolean;
}

type MessageEvent = Extract<EventBody, { type: `message.${string}` }>;

/** The messages of an agent as they are written. */
export class MessageTexts {
  private readonly whole = new Map<string, string>();
  /** Of somebody else than the agent. */
  private readonly foreign = new Set<string>();

  /** Undefined where nothing is to be told. */
  add(event: MessageEvent): TextChunk | undefined {
    const { message_id: messageId } = event.payload;
    if (event.type === 'message.started') {
      if (event.payload.role !== 'assistant') this.foreign.add(messageId);
      return undefined;
    }
    if (this.foreign.has(messageId)) return undefined;
    const before = this.whole.get(messageId);
    if (event.type === 'message.delta') {
      const { text } = event.payload;
      const whole = (before ?? '') + text;
      this.whole.set(messageId, whole);
      return { messageId, text, whole, append: before !== undefined, lastChunk: false };
    }
    const { role, text: whole } = event.payload;
    // What is said with data alone has no words.
    if (role !== 'assistant' || (whole === '' && before === undefined)) return undefined;
    this.whole.delete(messageId);
    // The end of a message says all of it once more; told is what was missing.
    const append = before !== undefined && whole.startsWith(before);
    return { messageId, text: append ? whole.slice(before.length) : whole, whole, append, lastChunk: true };
  }
}
