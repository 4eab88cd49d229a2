import { EventType } from '@ag-ui/core';
import type { AgUiConverter, AgUiEnricher } from '#lib/protocol/ag-ui';

/** What an installation might add, and what would break every rule there is if nobody looked. */
export const converters: readonly AgUiConverter[] = [
  { eventTypes: ['artifact.created'], convert: () => [{ type: EventType.CUSTOM, name: 'overruled', value: 1 }] },
  {
    eventTypes: ['artifact.created'],
    convert: ({ seq }) => [{ type: EventType.CUSTOM, name: 'file', value: seq }],
  },
  {
    eventTypes: ['step.started'],
    convert: () => [
      { type: EventType.STEP_STARTED, stepName: 'mine' },
      { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'never opened', delta: 'x' },
      { type: EventType.TOOL_CALL_START, toolCallId: 'never closed', toolCallName: 'x' },
    ],
  },
  { eventTypes: ['task.succeeded'], convert: () => [] },
];

export const enrichers: readonly AgUiEnricher[] = [
  (_source, events) => events.map((event) => ({ ...event, metadata: { ...event.metadata, by: ['first'] } })),
  ({ seq }, events) =>
    events.map((event) => ({
      ...event,
      metadata: { ...event.metadata, by: [...(event.metadata?.['by'] as string[]), 'second'], seq },
    })),
  (_source, events) =>
    events.filter(({ type }) => type !== EventType.RUN_STARTED && type !== EventType.TOOL_CALL_RESULT),
  (_source, events) => [...events, ...events],
  ({ type }, events) =>
    type === 'artifact.created' ? [...events, { type: EventType.CUSTOM, name: 'added', value: null }] : events,
  (_source, events) => [...events, { type: 'NOT_A_TYPE' } as never, { type: EventType.RAW } as never],
];
