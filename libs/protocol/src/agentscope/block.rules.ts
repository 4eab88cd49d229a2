import type { Payload } from '#lib/domain';
import { type Piece, remember, type Rules, type Scene } from './event.scene.js';

type TextEvents = `message.${'started' | 'delta' | 'completed'}` | `thinking.${'started' | 'delta' | 'completed'}`;

/** Texts and thoughts are blocks: a start, deltas, an end. One that comes whole is one delta. */
export const textRules: Rules<TextEvents> = {
  'message.started': ({ message_id, role }, scene) => start(scene, 'TEXT', message_id, role === 'assistant'),
  'message.delta': (payload, scene) => grow(scene, 'TEXT', payload),
  'message.completed': (payload, scene) => end(scene, 'TEXT', payload),
  'thinking.started': ({ message_id }, scene) => start(scene, 'THINKING', message_id, true),
  'thinking.delta': (payload, scene) => grow(scene, 'THINKING', payload),
  'thinking.completed': (payload, scene) => end(scene, 'THINKING', { role: 'assistant', ...payload }),
};

type Kind = 'TEXT' | 'THINKING';

function start(scene: Scene, kind: Kind, id: string, isShown: boolean): readonly Piece[] {
  remember(scene.blocks, keyOf(kind, id), { isShown, isSpoken: false });
  return isShown ? [edge(scene, kind, id, 'START')] : [];
}

function grow(scene: Scene, kind: Kind, { message_id: id, text }: Payload<'message.delta'>): readonly Piece[] {
  const known = scene.blocks.get(keyOf(kind, id));
  const begun = known ? [] : start(scene, kind, id, true);
  const block = scene.blocks.get(keyOf(kind, id))!;
  block.isSpoken = true;
  return block.isShown ? [...begun, delta(scene, kind, id, text)] : [];
}

function end(
  scene: Scene,
  kind: Kind,
  { message_id: id, role, text = '' }: { readonly message_id: string; readonly role: string; readonly text?: string },
): readonly Piece[] {
  const key = keyOf(kind, id);
  const block = scene.blocks.get(key);
  scene.blocks.delete(key);
  if (!(block?.isShown ?? role === 'assistant')) return [];
  return [
    ...(block ? [] : [edge(scene, kind, id, 'START')]),
    ...(block?.isSpoken || text === '' ? [] : [delta(scene, kind, id, text)]),
    edge(scene, kind, id, 'END'),
  ];
}

function edge({ replyId }: Scene, kind: Kind, blockId: string, what: 'START' | 'END'): Piece {
  const source = { type: `${kind}_BLOCK_${what}`, replyId, blockId };
  return { at: what === 'START' ? 0 : 2, type: 'AGENT_EVENT', source };
}

function delta({ replyId }: Scene, kind: Kind, blockId: string, text: string): Piece {
  const source = { type: `${kind}_BLOCK_DELTA`, replyId, blockId, delta: text };
  return { at: 1, type: `${kind}_DELTA`, text, source };
}

/** A message and a thought may have the same id. */
function keyOf(kind: Kind, id: string): string {
  return `${kind} ${id}`;
}
