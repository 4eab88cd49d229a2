import type { Detail, EventBody, EventDraft, ResultBody, UsageBody } from '#lib/domain';
import { newMessageId } from '#lib/platform';
import { draftEvent, OversizeError } from './admission.js';
import { type ArtifactKeeper, preview } from './artifact.keeper.js';
import { cleanText } from './event-content.js';

/** A result larger than this, as JSON in bytes, becomes an artifact with a preview in its place. */
const RESULT_MAX_BYTES = 8_192;

export interface FinalAnswer {
  readonly result: ResultBody;
  /** The message that was streamed as the answer; absent when there was none. */
  readonly messageId?: string;
  readonly usage?: UsageBody;
  /** What the session's next task is given. */
  readonly conversation?: unknown;
}

/** The events that end a task well: the answer as a message, then `task.succeeded`. They belong in one append. */
export async function draftFinalAnswer(
  { result, messageId, usage }: FinalAnswer,
  { detail, isStarted, keeper }: { detail: Detail; isStarted: boolean; keeper: ArtifactKeeper },
): Promise<EventDraft[]> {
  const small = await fit(result, keeper);
  const message_id = messageId ?? newMessageId();
  const started = { type: 'message.started', payload: { message_id, role: 'assistant' } } as const;
  return [
    ...small.artifact,
    ...(detail === 'status' || isStarted ? [] : [draftEvent(started)]),
    draftMessage(message_id, result.text),
    draftEvent({ type: 'task.succeeded', payload: { result: small.result, ...(usage ? { usage } : {}) } }),
  ];
}

function draftMessage(message_id: string, text: string): EventDraft {
  // `final` must be the last member: that is how the one event shown at every level is recognised.
  const body = (shown: string): EventBody => ({
    type: 'message.completed',
    payload: { message_id, role: 'assistant', text: shown, final: true },
  });
  try {
    return draftEvent(body(text));
  } catch (error) {
    if (!(error instanceof OversizeError)) throw error;
    const { text: clean } = error.body.payload as { readonly text: string };
    return draftEvent(body(preview(clean)));
  }
}

async function fit(
  result: ResultBody,
  keeper: ArtifactKeeper,
): Promise<{ readonly result: ResultBody; readonly artifact: readonly EventDraft[] }> {
  if (Buffer.byteLength(JSON.stringify(result)) <= RESULT_MAX_BYTES) return { result, artifact: [] };
  const json = cleanText(result);
  const clean = JSON.parse(json) as ResultBody;
  const { artifact, events } = await keeper.offload(json, 'result.json', 'application/json');
  const { model } = clean.metadata;
  return {
    result: { text: preview(clean.text), metadata: { ...(model === undefined ? {} : { model }), artifact } },
    artifact: events,
  };
}
