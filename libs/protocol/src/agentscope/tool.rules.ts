import { type Piece, remember, type Rules, type Scene } from './event.scene.js';

type ToolEvents =
  `tool.${'invoked' | 'completed' | 'failed' | 'denied'}` | 'tool.arguments.delta' | 'tool.output.delta';

interface Call {
  readonly tool_call_id: string;
  readonly tool_name?: string;
}

/** A call is told whole when it goes out: start, arguments, end; then what it answers, and how it ended. */
export const toolRules: Rules<ToolEvents> = {
  'tool.invoked': (payload, scene) => [
    ...announce(scene, payload, payload.arguments),
    { at: 3, type: 'AGENT_EVENT', source: { type: 'TOOL_RESULT_START', ...namesOf(scene, payload) } },
  ],
  'tool.completed': (payload, scene) => [
    ...output(scene, payload, payload.output ?? payload.artifact),
    result(scene, payload, 'SUCCESS'),
  ],
  'tool.failed': (payload, scene) => [
    ...output(scene, payload, payload.error.message),
    result(scene, payload, 'ERROR'),
  ],
  // One that was never announced is told first: who counts calls and results finds as many of either.
  'tool.denied': (payload, scene) => [
    ...(scene.calls.has(payload.tool_call_id) ? [] : announce(scene, payload, undefined)),
    ...output(scene, payload, payload.reason),
    result(scene, payload, 'DENIED'),
  ],
  // They name no tool, and the call is told whole as soon as it goes out.
  'tool.arguments.delta': () => [],
  'tool.output.delta': (payload, scene) => {
    const call = scene.calls.get(payload.tool_call_id);
    if (call) call.hasOutput = true;
    const names = { ...namesOf(scene, payload), toolCallName: call?.name };
    return [{ at: 0, type: 'AGENT_EVENT', source: { type: 'TOOL_RESULT_TEXT_DELTA', ...names, delta: payload.text } }];
  },
};

function announce(scene: Scene, call: Call, args: unknown): readonly Piece[] {
  remember(scene.calls, call.tool_call_id, { name: call.tool_name, hasOutput: false });
  const names = namesOf(scene, call);
  const flat = { toolCallId: call.tool_call_id, toolName: call.tool_name };
  const source = { type: 'TOOL_CALL_DELTA', ...names, delta: JSON.stringify(args) };
  return [
    { at: 0, type: 'TOOL_CALL_START', ...flat, source: { type: 'TOOL_CALL_START', ...names } },
    ...(args === undefined ? [] : [{ at: 1, type: 'AGENT_EVENT', source } as const]),
    { at: 2, type: 'TOOL_CALL_END', ...flat, source: { type: 'TOOL_CALL_END', ...names } },
  ];
}

/** What it answered, unless that was told as it came. */
function output(scene: Scene, call: Call, answer: unknown): readonly Piece[] {
  if (answer === undefined || scene.calls.get(call.tool_call_id)?.hasOutput) return [];
  const delta = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return [{ at: 4, type: 'AGENT_EVENT', source: { type: 'TOOL_RESULT_TEXT_DELTA', ...namesOf(scene, call), delta } }];
}

function result(scene: Scene, call: Call, status: 'SUCCESS' | 'ERROR' | 'DENIED'): Piece {
  scene.calls.delete(call.tool_call_id);
  const { tool_call_id: toolCallId, tool_name: toolName } = call;
  const source = { type: 'TOOL_RESULT_END', ...namesOf(scene, call), state: status.toLowerCase() };
  return { at: 5, type: 'TOOL_RESULT', toolCallId, toolName, status, source };
}

function namesOf({ replyId }: Scene, { tool_call_id, tool_name }: Call): Readonly<Record<string, string | undefined>> {
  return { replyId, toolCallId: tool_call_id, toolCallName: tool_name };
}
