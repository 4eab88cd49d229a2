import { readChineseBracket, takeChineseModifiers } from './chinese.modifiers.js';
import { simplify } from './chinese.lexicon.js';
import { splitWords } from './chinese.parts.js';
import { guessField } from './field.guess.js';
import { addField, type Draft, type DraftField } from './request.draft.js';

/** "包含标题、正文、作者的公告栏": the thing itself ends the list of its fields. */
const THING_AT_END = /^(.+?)的(.{1,8}(?:页面?|表单?|系统|网站|网页|栏|板|本|簿|清单|应用|工具|平台))$/;

/** Where the reader is. */
export interface ChineseReading {
  readonly draft: Draft;
  /** The part at hand opens the request: it says what to make. */
  head: boolean;
  mode: 'none' | 'fields' | 'perhaps' | 'filter' | 'sort';
  group: DraftField[];
}

/** A bracket behind the thing itself lists its fields: "留言（昵称、内容）". */
export function takeBrackets(brackets: readonly string[], reading: ChineseReading): void {
  brackets.flatMap((bracket) => splitWords(bracket)).forEach((item) => takeField(item, [], reading));
}

/** Takes a part of an open list as a field. */
export function takeField(text: string, brackets: readonly string[], reading: ChineseReading): void {
  const field: DraftField = { label: '', weak: reading.mode === 'perhaps' };
  const [, last, thing] = THING_AT_END.exec(text) ?? [];
  reading.draft.title ||= thing ?? '';
  const rest = takeChineseModifiers(last ?? text, field);
  const label = cleanLabel(rest);
  if (label === undefined) {
    const last = reading.group.at(-1);
    if (last !== undefined) Object.assign(last, { ...field, label: last.label, weak: last.weak });
    return;
  }
  if (reading.group.length === 0 && brackets.some(listsFields)) {
    reading.draft.noun ??= label;
    takeBrackets(brackets, reading);
    return;
  }
  field.label = label;
  brackets.forEach((bracket) => readChineseBracket(bracket, field));
  reading.group.push(addField(reading.draft, field));
}

function cleanLabel(text: string): string | undefined {
  const bare = text
    .replace(
      /^(?:[:\s"'“”《》]|您的?|你的?|一个|一条|一段|自己的|他们的|你的|我的|其|的|以下|下列|几个|多个|用户的|访客的|客人的|对方的?|本人|请(?=[填输选])|并|还|再|也|是(?!否)|为|有|和)+/,
      '',
    )
    .replace(
      /(?:[:\s"'“”《》.]|等等?|等信息|等字段|等内容|字段|输入框|文本框|这些|这几项|几项|几个|共.项|三项|四项|五项|信息|即可|的|了|吧|选项|下拉框?|下拉(?:菜单|选择|列表)|多行文本|单选框?|一项|一栏|栏)+$/,
      '',
    );
  return bare === '' || bare.length > 24 || !/\p{L}/u.test(bare) ? undefined : bare;
}

/** "提案（标题、说明、提案人）" lists fields where "性别（男、女）" lists choices. */
export function listsFields(bracket: string): boolean {
  const items = splitWords(bracket);
  const fieldLike = items.filter(
    (item) =>
      guessField(item, 'zh') !== undefined || /(?:标题|名称|姓名|名字|昵称|作者|编号|[人名号者])$/.test(simplify(item)),
  );
  return items.length > 1 && fieldLike.length * 2 >= items.length;
}
