import { readChineseAction } from './chinese.actions.js';
import { constrainChinese } from './chinese.constraints.js';
import { type ChineseReading, listsFields, takeBrackets, takeField } from './chinese.fields.js';
import { CHINESE_IGNORED, CHINESE_UNSUPPORTED, simplify } from './chinese.lexicon.js';
import { type Opened, openList, opensSurely } from './chinese.openers.js';
import { partsOf, sentencesOf } from './chinese.parts.js';
import { readTitle } from './chinese.title.js';
import type { Draft, DraftAction } from './request.draft.js';

/** "不需要登录", "提交后不能修改": not wanted, or not to be offered. */
const DENIES =
  /(?:不能|不可以?|不得|禁止|不允许|不要|无需|不需要?|不用|无须|不必|不支持)(?!重复|为?空|[少多]于|超过|[低高]于|[小大]于)/;

const MODAL =
  /^(?:.{0,10}?)(?:可以|能够|可|允许|支持|能|让.{1,4}?|需要能|要能|应能|应该能|并能|并可|还要|还需要?|也要|想要|实现|具备|具有|提供)(?:对.{1,8}?进行|进行|将.{1,6}?|把.{1,6}?)?/;

const MAKING = /[做建创制开写生设搭弄来要]|(?:页面?|表单?|系统|网站|应用|工具|板|本|簿|清单|平台)$/;

/** One part of a sentence: as written, and in simplified characters without joining words. */
interface Said {
  readonly text: string;
  readonly plain: string;
  readonly brackets: readonly string[];
}

/** Reads a Chinese request, simplified or traditional. */
export function readChinese(said: string): Draft {
  const request = said.replace(
    /(?:没有|無需|无需|不需要?|不带|不用|不要)(?:登录|登入|注册|支付|付款|密码|账号)+(?:功能|的)?/g,
    '',
  );
  const draft: Draft = { title: readTitle(request), fields: [], actions: [], denied: [], unsupported: [], notes: [] };
  const reading: ChineseReading = { draft, head: true, mode: 'none', group: [] };
  for (const sentence of sentencesOf(request)) {
    reading.mode = 'none';
    reading.group = [];
    const parts = partsOf(sentence);
    for (const part of parts) {
      readPart(part, reading);
      // "会员登记，编号、姓名、电话": a list may follow the thing without a word that opens it.
      if (reading.head && reading.mode === 'none' && parts.length > 3) reading.mode = 'perhaps';
      reading.head = false;
    }
  }
  return draft;
}

function readPart(part: string, reading: ChineseReading): void {
  const brackets = [...part.matchAll(/\(([^()]*)\)/g)].map((match) => match[1] ?? '');
  const text = part.replace(/\([^()]*\)/g, '').trim();
  const plain = simplify(text);
  if (constrainChinese(plain, brackets, reading)) return;
  const opened = openedBy(text, plain, reading);
  if (opened?.actions === true) reading.mode = 'none';
  else if (opened !== undefined) {
    const { draft } = reading;
    draft.noun ??= opened.noun;
    nameThing(opened, reading);
    const before = plain.length - opened.rest.length;
    if (isUnsupported(plain.slice(0, before), reading)) draft.unsupported.push(text.slice(0, before).replace(/:$/, ''));
    reading.mode = opened.strong ? 'fields' : 'perhaps';
    reading.group = [];
  }
  const rest = opened?.rest ?? text;
  const joined = simplify(rest).replace(/^(?:以及|还有|和|也|并|再|请|另外|还|都|然后|最后|同时)+/, '');
  READERS.some((read) => read({ text: rest, plain: joined, brackets }, reading));
}

function openedBy(text: string, plain: string, reading: ChineseReading): Opened | undefined {
  if ((DENIES.test(plain) && !opensSurely(plain)) || /^最[新早近热].*[前上顶]/.test(plain)) return undefined;
  return openList(text, plain, {
    head: reading.head && MAKING.test(plain),
    listing: isListing(reading) && reading.group.length > 0,
  });
}

function isListing({ mode }: ChineseReading): boolean {
  return mode === 'fields' || mode === 'perhaps';
}

function isUnsupported(plain: string, { head }: ChineseReading): boolean {
  // "生日提醒页面" and "任务看板" are names here; what they promise is asked for, if at all, further on.
  const said = head ? plain.replace(/提醒|分享|看板|智能|周期/g, '') : plain;
  return CHINESE_UNSUPPORTED.some((pattern) => pattern.test(said));
}

/** "收集毕业留言，每条留言有昵称": what looked like the first field named the thing. */
function nameThing({ each, strong }: Opened, { draft, group, mode }: ChineseReading): void {
  const [only] = group;
  if (only === undefined || group.length > 1 || draft.fields.at(-1) !== only) return;
  if (each === true || (strong && mode === 'perhaps')) {
    draft.fields.pop();
    draft.noun = only.label;
  } else if (mode === 'perhaps') only.weak = true;
}

function readDenied({ plain }: Said, { draft }: ChineseReading): boolean {
  const denied = DENIES.exec(plain);
  if (denied === null) return false;
  const rest = plain.slice(denied.index + denied[0].length);
  draft.denied.push(...(readChineseAction(rest, false) ?? []).map(({ kind }) => kind));
  return true;
}

function readUnsupported({ text, plain }: Said, reading: ChineseReading): boolean {
  const found = isUnsupported(plain, reading);
  if (found) reading.draft.unsupported.push(text);
  return found;
}

function readActions({ plain, brackets }: Said, reading: ChineseReading): boolean {
  const { draft } = reading;
  if (reading.head && brackets.length === 0 && MAKING.test(plain)) return false;
  const actions = actionsIn(plain, isListing(reading));
  if (actions === undefined) return false;
  draft.actions.push(...actions);
  const last = actions.at(-1)?.kind;
  reading.mode = last === 'filter' || last === 'sort' ? last : 'none';
  if (last === 'create' && draft.fields.length === 0 && brackets.some(listsFields)) takeBrackets(brackets, reading);
  return true;
}

function actionsIn(plain: string, listing: boolean): DraftAction[] | undefined {
  const bare = plain.replace(MODAL, '');
  return readChineseAction(plain, listing) ?? (bare === plain ? undefined : readChineseAction(bare, false));
}

/** "按城市和价格筛选": what follows is filtered by, too. */
function readTargets({ plain }: Said, { draft, mode }: ChineseReading): boolean {
  if (mode !== 'filter' && mode !== 'sort') return false;
  draft.actions.push({ kind: mode, on: plain });
  return true;
}

function readField({ text, plain, brackets }: Said, reading: ChineseReading): boolean {
  if (plain === '' || CHINESE_IGNORED.some((pattern) => pattern.test(plain))) return true;
  if (!isListing(reading)) return false;
  takeField(text, brackets, reading);
  return true;
}

/** The thing itself, at the start; anywhere else a demand nothing above understood. */
function readRest({ text, plain, brackets }: Said, reading: ChineseReading): boolean {
  const { draft, head } = reading;
  const bare = plain.replace(MODAL, '');
  const lists = head ? brackets.length > 0 : brackets.some(listsFields);
  if (draft.fields.length === 0 && lists) takeBrackets(brackets, reading);
  else if (!head && bare !== plain && bare.length > 1) draft.unsupported.push(text);
  return true;
}

/** Each takes the part or leaves it to the next. */
const READERS: readonly ((said: Said, reading: ChineseReading) => boolean)[] = [
  readDenied,
  readUnsupported,
  readActions,
  readTargets,
  readField,
  readRest,
];
