import OpenAI, { APIError } from 'openai';
import type { Driver, Place, Sight } from './driver.js';

type Chunk = OpenAI.Chat.ChatCompletionChunk;
type Call = OpenAI.Chat.ChatCompletionMessageFunctionToolCall;

/** Any agent will do where a task is named. */
const MODEL = 'scripted';
const APPROVAL: OpenAI.Chat.ChatCompletionTool = {
  type: 'function',
  function: { name: 'gateway_request_approval', parameters: { type: 'object' } },
};

function completionsOf({ url, key }: Place): OpenAI['chat']['completions'] {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }).chat.completions;
}

const asked = (content: string): OpenAI.Chat.ChatCompletionUserMessageParam => ({ role: 'user', content });

function pickUp(place: Place, taskId: string): Promise<OpenAI.Chat.ChatCompletion> {
  const body = { model: MODEL, messages: [asked('And?')], tools: [APPROVAL], metadata: { task_id: taskId } };
  return completionsOf(place).create(body);
}

/** The official client. A wait is a call of the tool for approvals. */
export const chat: Driver = {
  name: 'Chat Completions',
  async create(place, agentId, text) {
    const body = { model: agentId, messages: [asked(text)], tools: [APPROVAL] };
    const stream = await completionsOf(place).create({ ...body, stream: true });
    const chunks = stream[Symbol.asyncIterator]();
    const first = (await chunks.next()).value as Chunk;
    // A task whose client leaves is cancelled.
    void rest(chunks);
    return first.id.replace('chatcmpl-', '');
  },
  async watch(place, taskId): Promise<Sight> {
    try {
      const { choices } = await pickUp(place, taskId);
      const { finish_reason, message } = choices[0]!;
      return { state: finish_reason === 'tool_calls' ? 'waiting' : 'succeeded', text: message.content ?? '' };
    } catch (error) {
      if (!isApiError(error)) throw error;
      return { state: error.code === 'task_cancelled' ? 'cancelled' : 'failed', text: error.message };
    }
  },
  async decide(place, taskId, isApproved) {
    const { choices, model } = await pickUp(place, taskId);
    const { message } = choices[0]!;
    const call = message.tool_calls![0] as Call;
    const { pending } = JSON.parse(call.function.arguments) as { pending: { toolCallId: string }[] };
    const decisions = pending.map(({ toolCallId }) => ({ toolCallId, approved: isApproved }));
    const answer = { role: 'tool', tool_call_id: call.id, content: JSON.stringify({ decisions }) } as const;
    await completionsOf(place).create({
      model,
      messages: [asked('And?'), message, answer],
      tools: [APPROVAL],
      metadata: { task_id: taskId },
    });
  },
};

async function rest(chunks: AsyncIterator<Chunk>): Promise<void> {
  try {
    while (!(await chunks.next()).done);
  } catch {
    // How it ends is for those who watch it.
  }
}

function isApiError(error: unknown): error is APIError {
  return error instanceof APIError;
}
