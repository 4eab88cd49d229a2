import type { TaskKey, TaskNews } from '#lib/domain';

/** PostgreSQL refuses a payload of 8,000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7_900;
const LIVE = 'L';
const SIGNAL = 'S';

export type Notification =
  | { readonly kind: 'news'; readonly news: readonly TaskNews[] }
  | { readonly kind: 'live'; readonly taskKey: TaskKey; readonly text: string }
  | { readonly kind: 'signal'; readonly channel: string; readonly message: string };

/** `task_key:from:to,…` in as few payloads as they fit in; all of it is ASCII. Frames stay out: readers take the log. */
export function encodeNewsPayloads(news: readonly TaskNews[]): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const { taskKey, fromSeq, toSeq } of news) {
    const item = `${taskKey}:${fromSeq}:${toSeq}`;
    if (payload.length + 1 + item.length > MAX_PAYLOAD_BYTES) {
      payloads.push(payload);
      payload = '';
    }
    payload += payload === '' ? item : `,${item}`;
  }
  if (payload !== '') payloads.push(payload);
  return payloads;
}

/** Undefined when the frame is too large to travel; a live frame may be lost. */
export function encodeLivePayload(taskKey: TaskKey, text: string): string | undefined {
  return bounded(`${LIVE}${taskKey}\n${text}`);
}

export function encodeSignalPayload(channel: string, message: string): string | undefined {
  return bounded(`${SIGNAL}${channel}\n${message}`);
}

function bounded(payload: string): string | undefined {
  return Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES ? payload : undefined;
}

/** Keys are hexadecimal, so the capital letters of the other kinds cannot begin a list of news. */
export function decodePayload(payload: string): Notification {
  const kind = payload[0];
  if (kind !== LIVE && kind !== SIGNAL) return { kind: 'news', news: payload.split(',').map(decodeItem) };
  const split = payload.indexOf('\n');
  const [name, text] = [payload.slice(1, split), payload.slice(split + 1)];
  return kind === LIVE
    ? { kind: 'live', taskKey: name as TaskKey, text }
    : { kind: 'signal', channel: name, message: text };
}

function decodeItem(item: string): TaskNews {
  const [taskKey, from, to] = item.split(':');
  return { taskKey: taskKey as TaskKey, fromSeq: Number(from), toSeq: Number(to) };
}
