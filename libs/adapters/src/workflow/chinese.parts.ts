import { Jieba } from '@node-rs/jieba';
import { dict } from '@node-rs/jieba/dict.js';

let segmenter: Jieba | undefined;

export function sentencesOf(request: string): string[] {
  const lines = request
    .replace(/https?:\/\/[\x21-\x7e]+/g, ' ')
    .replace(/[（【\[{]/g, '(')
    .replace(/[）】\]}]/g, ')')
    .replace(/[：﹕]/g, ':')
    .replace(/(\d)\s*(?:到|至|~|～|—|–|－)\s*(\d)/g, '$1-$2')
    .replace(
      /(^|\n)\s*(?:[-*•·]|\d+[.)、．])\s*([^\n]+)/g,
      (_, __, line: string) => `，${line.replace(/^([^:()]{1,12}):\s*(.+)$/, '$1($2)').replace(/[。；;，,]+$/, '')}`,
    )
    .replace(/:[\s，]+/g, ':');
  return lines
    .split(/[。！？!?\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Splits at separators outside brackets; 和, 与 and 及 separate only where the segmenter sees a word of its own ("参与人数" stays whole). */
export function partsOf(sentence: string): string[] {
  const parts: string[] = [];
  for (const piece of sentence.split(/(\([^()]*\))/)) {
    if (piece.startsWith('(')) parts.push(`${parts.pop() ?? ''}${piece}`);
    else {
      const split = splitWords(piece);
      const first = split.shift() ?? '';
      parts.push(`${parts.pop() ?? ''}${first}`, ...split);
    }
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** The items of a list. */
export function splitWords(text: string): string[] {
  segmenter ??= Jieba.withDict(dict);
  const words = segmenter.cut(text, true);
  const parts: string[] = [''];
  for (const word of words) {
    if (
      /^(?:[，,、;；/]|和|与|與|及|以及|还有|還有|跟|或|或者|並且|并且|并|並|且|同时|同時|另外|然后|然後|而且|最后)$/.test(
        word,
      )
    )
      parts.push('');
    else parts[parts.length - 1] += word;
  }
  return parts;
}
