import type { EventType, Frame, TaskKey, TaskNews } from '#lib/domain';

/** What reaches the subscribers of a task. */
export type TaskMessage = TaskNews | { readonly live: Frame };

/** Above this the frames stay out and subscribers read the log: a slow one would make Redis drop its connection. */
const MAX_FRAMES_CHARS = 262_144;
const FRAME_END = '\n\n';
const LIVE = 'event: ';
const HEADER = /^(\d+) (\d+)$/;

/**
 * `<from> <to>` on the first line, then the frames as they go to the socket. Frames are never parsed: each ends in the
 * only blank line it has, and its first lines are read with `indexOf`.
 */
export function encodeNews({ fromSeq, toSeq, frames = [] }: TaskNews): string {
  const texts = frames.map((frame) => frame.text).join('');
  return `${fromSeq} ${toSeq}\n${texts.length <= MAX_FRAMES_CHARS ? texts : ''}`;
}

/** A live frame is its own message: it starts with its event, since it has no id. */
export function encodeLive(frame: Frame): string {
  return frame.text;
}

/** Undefined for what is not ours: channels carry text of any version. */
export function decodeTaskMessage(taskKey: TaskKey, text: string): TaskMessage | undefined {
  if (text.startsWith(LIVE)) return { live: decodeFrame(text) };
  const headerEnd = text.indexOf('\n');
  const [, from, to] = HEADER.exec(text.slice(0, headerEnd)) ?? [];
  if (from === undefined) return undefined;
  const news = { taskKey, fromSeq: Number(from), toSeq: Number(to) };
  return headerEnd + 1 === text.length ? news : { ...news, frames: splitFrames(text, headerEnd + 1) };
}

function splitFrames(text: string, from: number): Frame[] {
  const frames: Frame[] = [];
  for (let start = from; start < text.length;) {
    const found = text.indexOf(FRAME_END, start);
    const end = found === -1 ? text.length : found + FRAME_END.length;
    frames.push(decodeFrame(text.slice(start, end)));
    start = end;
  }
  return frames;
}

/** `id: <seq>\nevent: <type>\ndata: …`; no id line means live only. */
function decodeFrame(text: string): Frame {
  const idEnd = text.startsWith('id: ') ? text.indexOf('\n') : -1;
  const typeStart = idEnd + 1 + LIVE.length;
  return {
    seq: idEnd === -1 ? 0 : Number(text.slice(4, idEnd)),
    type: text.slice(typeStart, text.indexOf('\n', typeStart)) as EventType,
    text,
  };
}
