import type { StreamResponse } from '@a2a-js/sdk';
import type { LoggedEvent, NoticeFacts } from '#lib/domain';
import type { ArtifactUrl } from './parts.js';
import type { ConfirmationState } from './state.js';
import { TaskTranscript } from './transcript.js';

/** How events are told to those who are notified. */
export interface NoticeTerms {
  readonly urlOf: ArtifactUrl;
  readonly confirmationState: ConfirmationState;
}

/** A run after the first begins a task that is at work already. */
const FIRST_RUN = 1;

/** What one event says to those who are notified (A2A 1.0, "Push Notifications"): each message whole, not in pieces. */
export function encodeNotices(facts: NoticeFacts, terms: NoticeTerms): readonly StreamResponse[] {
  const { taskId, sessionId, type, eventId, seq, atMs, runNo } = facts;
  if (type === 'task.started' && runNo > FIRST_RUN) return [];
  const transcript = new TaskTranscript({ ...terms, taskId, contextId: sessionId ?? taskId });
  const payload = JSON.parse(facts.payload) as unknown;
  return transcript.apply({ type, payload, eventId, seq, timestamp: new Date(atMs).toISOString() } as LoggedEvent);
}
