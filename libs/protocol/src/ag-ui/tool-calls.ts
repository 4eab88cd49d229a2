import { EventType } from '@ag-ui/core';
import type { ArtifactBody, ConfirmationBody, Payload } from '#lib/domain';
import type { AgUiEvent } from './contract.js';

type Decision = Payload<'task.resumed'>['decisions'][number];

/**
 * Tool calls of one run (tool call events). A call is announced whole, in one go: its arguments come in pieces before anybody
 * says which tool they are for. What was announced before a pause is not announced again after it.
 */
export class ToolCalls {
  private readonly announced = new Set<string>();
  private readonly pieces = new Map<string, string>();
  /** Announced in the run before, and decided. */
  private readonly decided = new Set<string>();
  /** Made by the caller: it has the result. */
  private readonly returned = new Set<string>();
  private isResumed = false;

  constructor(private readonly showsArguments: boolean) {}

  resumed(decisions: readonly Decision[]): void {
    this.isResumed = true;
    for (const { tool_call_id: id, approved } of decisions) {
      if (typeof id !== 'string') continue;
      (typeof approved === 'boolean' ? this.decided : this.returned).add(id);
    }
  }

  piece(id: string, text: string): void {
    if (this.showsArguments && !this.announced.has(id)) this.pieces.set(id, (this.pieces.get(id) ?? '') + text);
  }

  invoked({ tool_call_id, tool_name, arguments: args }: Call): AgUiEvent[] {
    if (tool_call_id === '' || this.announced.has(tool_call_id) || this.decided.has(tool_call_id)) return [];
    this.announced.add(tool_call_id);
    const delta = this.argumentsOf(tool_call_id, args);
    const name = tool_name === undefined || tool_name === '' ? 'unknown' : tool_name;
    return [
      { type: EventType.TOOL_CALL_START, toolCallId: tool_call_id, toolCallName: name },
      ...(delta === ''
        ? []
        : [{ type: EventType.TOOL_CALL_ARGS, toolCallId: tool_call_id, delta } satisfies AgUiEvent]),
      { type: EventType.TOOL_CALL_END, toolCallId: tool_call_id },
    ];
  }

  /** The calls that a pause is about; other things it asks for are no calls. */
  asked(confirmations: readonly ConfirmationBody[]): AgUiEvent[] {
    return confirmations
      .filter(({ kind }) => kind === 'tool_confirmation' || kind === 'client_tool')
      .flatMap((item) => this.invoked(item));
  }

  /** `messageId`: the result is a message of its own. */
  completed({ tool_call_id, tool_name, output, artifact }: Payload<'tool.completed'>, messageId: string): AgUiEvent[] {
    const content = output === undefined && artifact ? JSON.stringify(artifactOf(artifact)) : textOf(output);
    return this.result({ tool_call_id, tool_name }, content, messageId);
  }

  failed({ tool_call_id, tool_name, error }: Payload<'tool.failed'>, messageId: string): AgUiEvent[] {
    return this.result({ tool_call_id, tool_name }, error.message, messageId);
  }

  denied({ tool_call_id, tool_name, reason }: Payload<'tool.denied'>, messageId: string): AgUiEvent[] {
    const announcement = this.invoked({ tool_call_id, tool_name });
    return [...announcement, ...this.result({ tool_call_id, tool_name }, reason, messageId)];
  }

  private result(call: Call, content: string, messageId: string): AgUiEvent[] {
    if (call.tool_call_id === '' || this.returned.has(call.tool_call_id)) return [];
    // After a pause it may be of a call from before it.
    const announcement = this.isResumed ? [] : this.invoked(call);
    const result: AgUiEvent = {
      type: EventType.TOOL_CALL_RESULT,
      messageId,
      toolCallId: call.tool_call_id,
      content,
      role: 'tool',
    };
    return [...announcement, result];
  }

  private argumentsOf(id: string, args: unknown): string {
    const pieces = this.pieces.get(id) ?? '';
    this.pieces.delete(id);
    if (!this.showsArguments) return '';
    return pieces === '' && args !== undefined ? textOf(args) : pieces;
  }
}

interface Call {
  readonly tool_call_id: string;
  readonly tool_name?: string;
  readonly arguments?: unknown;
}

/** Text as it is, anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** An artifact as consumers of this wire spell names. */
export function artifactOf({ artifact_id, name, media_type, size }: ArtifactBody): Readonly<Record<string, unknown>> {
  return { artifactId: artifact_id, name, mediaType: media_type, size };
}
