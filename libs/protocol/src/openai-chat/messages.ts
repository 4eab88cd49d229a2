import { z } from 'zod';
import type { Fault } from '#lib/domain';

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const imagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) });
const audioPart = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
});
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }),
});

/** A text stands for one part. */
const asParts = (value: unknown): unknown => (typeof value === 'string' ? [{ type: 'text', text: value }] : value);
const texts = z.preprocess(asParts, z.array(textPart));
const userParts = z.preprocess(
  asParts,
  z
    .array(
      z.discriminatedUnion('type', [textPart, imagePart, audioPart, filePart], {
        error: 'must be one of text, image_url, input_audio, file',
      }),
    )
    .min(1),
);
const answerParts = z.preprocess(
  asParts,
  z.array(z.discriminatedUnion('type', [textPart, refusalPart], { error: 'must be one of text, refusal' })).nullish(),
);

const functionCall = z.object({
  id: z.string().min(1).max(200),
  type: z.literal('function', { error: 'must be function' }),
  function: z.object({ name: z.string().min(1).max(200), arguments: z.string() }),
});

const instructions = { content: texts };

/** A message of a conversation (API reference, "Create chat completion", `messages`). */
export const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), ...instructions }),
    z.object({ role: z.literal('developer'), ...instructions }),
    z.object({ role: z.literal('user'), content: userParts }),
    z.object({ role: z.literal('assistant'), content: answerParts, tool_calls: z.array(functionCall).nullish() }),
    z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1).max(200), content: texts }),
  ],
  { error: 'must be one of system, developer, user, assistant, tool' },
);

/** A message whose form is right; content is a list of parts, however it was written. */
export type ChatMessage = z.infer<typeof messageSchema>;
/** A part of what a user says. */
export type UserPart = z.infer<typeof userParts>[number];

/**
 * Faults between messages: every call is answered by a `tool` message before anybody else speaks, and nothing is answered
 * that was not asked (API guide, "Function calling").
 */
export function faultsOfCalls(messages: readonly ChatMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  let open = new Set<string>();
  const close = (path: string): void => {
    if (open.size > 0) faults.push(fault(path, `must answer the calls ${[...open].map(shorten).join(', ')} first`));
    open = new Set();
  };
  messages.forEach((message, index) => {
    if (message.role !== 'tool') close(`/messages/${index}`);
    if (message.role === 'assistant') open = new Set(message.tool_calls?.map(({ id }) => id));
    if (message.role === 'tool' && !open.delete(message.tool_call_id))
      faults.push(fault(`/messages/${index}/tool_call_id`, 'answers no call of the assistant message before it'));
  });
  close('/messages');
  return faults;
}

function fault(path: string, message: string): Fault {
  return { path, code: 'invalid_value', message };
}

function shorten(id: string): string {
  return id.slice(0, 100);
}
