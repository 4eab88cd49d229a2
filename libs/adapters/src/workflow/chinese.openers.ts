import { readChineseAction } from './chinese.actions.js';
import { simplify } from './chinese.lexicon.js';

/** How a part opens a list. */
export interface Opened {
  readonly rest: string;
  readonly strong: boolean;
  /** What follows are actions: no list of fields opens. */
  readonly actions?: boolean;
  /** It opens with 每. */
  readonly each?: boolean;
  readonly noun?: string | undefined;
}
const STRONG =
  '(?:需要(?:填写|填|写明|注明|写|有|包含|包括)|(?:要|应|须|需)(?:有|包含|包括|填写|填|写)|字段(?:有|为|是|包括|包含|如下|分别是|分别为)?|包含|包括|含有|含|内容(?:有|为|包括)|信息(?:有|为|包括|如下)|写明|注明|填写|填入|填|输入|录入|收集|提供|留下|写下|选择|采集|填报|属性(?:有|为|包括)?|分别(?:是|为)|要素(?:有|为)?|列(?:有|为)|表头(?:有|为)?|需要(?:填写|填|写|有|包含|包括)|(?:要|应|须|需)(?:有|包含|包括|填写?|写)|(?:都|里面?|其中|上面?|中)有|具有|具备)';
const WEAK =
  '(?:记录|登记|保存|存储|管理(?!员|人员)|添加|新增|提交|发布|追踪|跟踪|统计|维护|创建|设置|需要|显示|展示|列出|带有|带|有)';
const STRONG_AT = new RegExp(
  `^(?:.*?[^没只所仅])??(${STRONG})(?:以下|下列|如下|自己的|他们的|其|个人的?|一下)?(?:的)?(?:字段|信息|内容|项目)?[:：]?(?=.)`,
);
const WEAK_AT = new RegExp(
  `^(?:.{0,12}?)(${WEAK}{1,3})(?:以下|下列|如下|自己的|他们的|每[一]?[个条本次位笔件项种](?:.{0,4}的)?|其|我的|一下)?(?:的)?(?:字段|信息|内容)?[:：]?(?=.)`,
);
const EACH =
  /^(?:.*?)(?:每(?:一)?[个条本次位笔件项种名部份张场只]|每)([\p{Script=Han}]{0,6}?)(?:都)?(?:需要?|要|应|应该|可以|会)?(?:有|包含|包括|(?:记录|登记|保存)(?![包有含需要应都])|填写|需要|显示|含|录入)[:：]?/u;
/** A verb before one of these is part of a field's name: "发布日期", "提交人". */
const TAIL = /^(?:日期|时间|人|者|地|数|量|编号|方式|状态|类型|名|原因|单号|号|金额|内容|说明|备注|记录$)/;
const THING = /^(?:的)?(?:页面?|表单?|系统|网站|网页|板|工具|平台|应用|功能|箱|册|簿|本|单|库)$/;

/** How `text` opens a list of fields, `plain` being the same in simplified characters. */
export function openList(text: string, plain: string, at: { head: boolean; listing: boolean }): Opened | undefined {
  const opened = openSurely(text, plain, at.listing) ?? (at.head ? undefined : openPerhaps(text, plain, at.listing));
  return opened !== undefined && isActionList(opened.rest) ? { ...opened, actions: true } : opened;
}

function isActionList(rest: string): boolean {
  return readChineseAction(simplify(rest), false) !== undefined || /(?:功能|按钮)$/.test(rest);
}

function openSurely(text: string, plain: string, listing: boolean): Opened | undefined {
  const behind = (match: RegExpExecArray | null): string => {
    const rest = match === null ? '' : text.slice(match[0].length);
    // "反馈收集页" names the thing and opens nothing.
    const compound = listing && TAIL.test(rest) && !/[包含有为是]/.test(match?.[1] ?? '');
    return THING.test(rest) || compound ? '' : rest;
  };
  const each = EACH.exec(plain);
  if (behind(each) !== '')
    return { rest: behind(each), strong: true, each: true, noun: each?.[1] === '' ? undefined : each?.[1] };
  const strong = STRONG_AT.exec(plain);
  if (behind(strong) !== '') return { rest: behind(strong), strong: true };
  const colon = /^[^:]{1,16}:(?=.)/.exec(plain);
  return colon === null ? undefined : { rest: behind(colon), strong: !/功能|操作|要求/.test(colon[0]) };
}

function openPerhaps(text: string, plain: string, listing: boolean): Opened | undefined {
  const weak = WEAK_AT.exec(plain);
  if (weak === null || weak[0].length === plain.length || THING.test(plain.slice(weak[0].length))) return undefined;
  if (listing && TAIL.test(plain.slice(weak[0].length))) return undefined;
  // "带家属" within a list is a field; alone, "带" may open one.
  return listing && (weak[1] ?? '').length < 2 ? undefined : { rest: text.slice(weak[0].length), strong: false };
}

/** Whether the part itself is a sure opener, whatever it denies. */
export function opensSurely(plain: string): boolean {
  return STRONG_AT.test(plain);
}
