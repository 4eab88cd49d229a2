import type { EventType } from '#lib/domain';
import { type AgentEvent, chatUsageOf, failureText, toolUseOf } from './agent-event.js';
import { textRules } from './block.rules.js';
import type { Piece, Rule, Rules, Scene } from './event.scene.js';
import { pendingConfirmOf } from './remote-event.js';
import { toolRules } from './tool.rules.js';

/** What AgentScope has no event for is a `CUSTOM` one of the same name, for those who asked for everything. */
function custom<T extends EventType>(name: T): Rule<T> {
  return (payload) => [{ at: 0, type: 'AGENT_EVENT', source: { type: 'CUSTOM', name, value: payload } }];
}

/** By type of the log; the numbers of pieces never change, since clients go on from them. */
export const RULES: Rules = {
  ...textRules,
  ...toolRules,
  'task.created': (payload, scene) => {
    scene.agentId = payload.agent_id;
    scene.sessionId = payload.session_id ?? scene.taskId;
    scene.detail = payload.detail as Scene['detail'];
    return [];
  },
  'task.started': (_payload, scene) => begin(scene),
  'task.retrying': (_payload, scene) => begin(scene),
  'agent.request_confirmation': ({ confirmations }, { replyId }) => [
    {
      at: 0,
      type: 'REQUIRE_CONFIRM',
      pendingConfirms: confirmations.map(pendingConfirmOf),
      source: { type: 'REQUIRE_USER_CONFIRM', replyId, toolCalls: confirmations.map((item) => toolUseOf(item)) },
    },
  ],
  'task.waiting_for_input': ({ confirmations }, scene) => {
    scene.pending = confirmations;
    const toolCalls = confirmations.map((item) => toolUseOf(item));
    return [
      { at: 0, type: 'AGENT_EVENT', source: { type: 'REQUEST_STOP', generateReason: 'PERMISSION_ASKING' } },
      { at: 1, type: 'AGENT_EVENT', source: resultOf(scene, toolCalls) },
      { at: 2, type: 'RUN_FINISHED', source: { type: 'AGENT_END', replyId: scene.replyId } },
      {
        at: 3,
        type: 'REQUIRE_CONFIRM',
        pendingConfirms: confirmations.map(pendingConfirmOf),
        status: 'awaiting_confirm',
      },
    ];
  },
  'task.resumed': ({ decisions }, scene) => {
    // Told by the run that goes on with it.
    scene.decisions = decisions;
    return [];
  },
  'task.succeeded': ({ result, usage }, scene) => [
    {
      at: 0,
      type: 'AGENT_EVENT',
      source: resultOf(scene, [{ type: 'text', text: result.text }], usage && chatUsageOf(usage)),
    },
    { at: 1, type: 'RUN_FINISHED', source: { type: 'AGENT_END', replyId: scene.replyId } },
    { at: 2, type: 'STATUS', status: 'success' },
  ],
  'task.failed': ({ error }) => [{ at: 0, type: 'RUN_ERROR', status: 'error', error: failureText(error) }],
  'task.cancelled': () => [{ at: 0, type: 'STATUS', status: 'cancelled' }],
  'task.stalled': custom('task.stalled'),
  'task.recovered': custom('task.recovered'),
  'task.released': custom('task.released'),
  'task.cancel_requested': custom('task.cancel_requested'),
  'step.started': custom('step.started'),
  'step.completed': custom('step.completed'),
  'step.failed': custom('step.failed'),
  'step.retrying': custom('step.retrying'),
  'step.cancelled': custom('step.cancelled'),
  'artifact.created': custom('artifact.created'),
  'agent.event': custom('agent.event'),
  'model.usage': ({ usage }, { replyId }) => [
    { at: 0, type: 'AGENT_EVENT', source: { type: 'MODEL_CALL_END', replyId, usage: chatUsageOf(usage) } },
  ],
  heartbeat: () => [],
};

function begin(scene: Scene): readonly Piece[] {
  scene.begin();
  const { replyId, sessionId, agentId: name, pending, decisions } = scene;
  scene.decisions = [];
  const started: Piece = {
    at: 0,
    type: 'RUN_STARTED',
    source: { type: 'AGENT_START', sessionId, replyId, name, role: 'assistant' },
  };
  if (decisions.length === 0) return [started];
  const confirmResults = pending.map((item) => {
    const { approved, edited_args, reason } =
      decisions.find(({ tool_call_id }) => tool_call_id === item.tool_call_id) ?? {};
    const confirmed = approved === true;
    return { confirmed, toolCall: toolUseOf(item, confirmed ? 'allowed' : 'asking', edited_args), reason };
  });
  return [started, { at: 1, type: 'AGENT_EVENT', source: { type: 'USER_CONFIRM_RESULT', replyId, confirmResults } }];
}

/** AgentScope's `Msg`, which ends each stint of an agent. */
function resultOf(scene: Scene, content: readonly object[], usage?: object): AgentEvent {
  const { eventHex: id, agentId: name, timestamp } = scene;
  return { type: 'AGENT_RESULT', result: { id, name, role: 'ASSISTANT', content, metadata: {}, timestamp, usage } };
}
