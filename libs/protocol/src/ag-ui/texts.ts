import { EventType } from '@ag-ui/core';
import type { AgUiEvent } from './contract.js';

type Role = 'assistant' | 'user' | 'system' | 'developer';

/**
 * Messages of one run (text message events). One is opened with its first character: most consumers show an empty one as an
 * empty bubble, and those before 1.0 refuse an empty delta.
 */
export class Texts {
  private readonly roles = new Map<string, string>();
  private readonly open = new Set<string>();

  started(messageId: string, role: string): void {
    this.roles.set(messageId, role);
  }

  delta(messageId: string, text: string): AgUiEvent[] {
    if (text === '') return [];
    const content: AgUiEvent = { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: text };
    if (this.open.has(messageId)) return [content];
    this.open.add(messageId);
    return [{ type: EventType.TEXT_MESSAGE_START, messageId, role: roleOf(this.roles.get(messageId)) }, content];
  }

  completed(messageId: string, role: string, text: string): AgUiEvent[] {
    this.roles.set(messageId, role);
    const rest = this.open.has(messageId) ? [] : this.delta(messageId, text);
    return this.open.delete(messageId) ? [...rest, { type: EventType.TEXT_MESSAGE_END, messageId }] : [];
  }

  /** Nothing more comes of those that are open. */
  close(): AgUiEvent[] {
    const ends = [...this.open].map((messageId): AgUiEvent => ({ type: EventType.TEXT_MESSAGE_END, messageId }));
    this.open.clear();
    return ends;
  }
}

/** Reasoning of one run (reasoning events): a span with one message. Its ids are not those of messages: UIs merge equal ones. */
export class Thoughts {
  private readonly open = new Set<string>();

  delta(id: string, text: string): AgUiEvent[] {
    if (text === '') return [];
    const messageId = `${id}-reasoning`;
    const content: AgUiEvent = { type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta: text };
    if (this.open.has(messageId)) return [content];
    this.open.add(messageId);
    return [
      { type: EventType.REASONING_START, messageId },
      { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' },
      content,
    ];
  }

  completed(id: string, text = ''): AgUiEvent[] {
    const messageId = `${id}-reasoning`;
    const rest = this.open.has(messageId) ? [] : this.delta(id, text);
    return this.open.delete(messageId) ? [...rest, ...endOf(messageId)] : [];
  }

  close(): AgUiEvent[] {
    const ends = [...this.open].flatMap(endOf);
    this.open.clear();
    return ends;
  }
}

function endOf(messageId: string): AgUiEvent[] {
  return [
    { type: EventType.REASONING_MESSAGE_END, messageId },
    { type: EventType.REASONING_END, messageId },
  ];
}

function roleOf(role: string | undefined): Role {
  return role === 'user' || role === 'system' || role === 'developer' ? role : 'assistant';
}
