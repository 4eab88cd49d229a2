import type { ChineseReading } from './chinese.fields.js';
import { simplify } from './chinese.lexicon.js';
import { readChineseBracket, takeChineseModifiers } from './chinese.modifiers.js';
import { addField, type DraftField } from './request.draft.js';

/** "邮箱必填", "年龄在18-60之间", "手机号不能重复", "所有字段必填". */
export function constrainChinese(plain: string, brackets: readonly string[], { draft, mode }: ChineseReading): boolean {
  if (
    /^(?:所有|全部|以上|每个)?(?:字段|信息|项目?|内容|都|均|全部)*(?:都|均|全部|为|是)*(?:必填|必须填写?)$/.test(
      plain,
    ) &&
    mode !== 'fields'
  ) {
    draft.allRequired = true;
    return true;
  }
  const once = /每(?:一)?个?(.+?)(?:只能|仅能|只可|限)(?:.{0,4}?)(?:一次|1次|一条|一份)/.exec(plain)?.[1];
  const only = once === undefined ? undefined : draft.fields.find(({ label }) => simplify(label).includes(once));
  if (only !== undefined) {
    only.unique = true;
    return true;
  }
  const known = draft.fields.find(
    (field) => plain.startsWith(simplify(field.label)) && plain.length > field.label.length,
  );
  if (known === undefined) return false;
  const tail = plain.slice(known.label.length);
  const field: DraftField = { label: known.label };
  const rest = takeChineseModifiers(tail, field);
  if (rest === tail || rest.replace(/[为是必须需应该要在可以的格式位只能且不得能之间内有效正确长度个字符]/g, '') !== '')
    return false;
  brackets.forEach((bracket) => readChineseBracket(bracket, field));
  addField(draft, field);
  return true;
}
