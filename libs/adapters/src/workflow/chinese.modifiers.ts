import type { DraftField } from './request.draft.js';
import type { FieldType } from './site.plan.js';

type Modify = (field: DraftField, ...groups: string[]) => void;
const N = '(-?\\d+(?:\\.\\d+)?)';
const UNIT = '(?:分|星|岁|歲|个|個|人|元|级|級|次|天|颗星|之间|之間|以内|以內)*';
const TYPE_WORDS: ReadonlyMap<string, FieldType> = new Map<string, FieldType>(
  Object.entries({
    文本: 'text',
    字符串: 'text',
    多行文本: 'textarea',
    长文本: 'textarea',
    文本域: 'textarea',
    数字: 'number',
    整数: 'number',
    数值: 'number',
    金额: 'number',
    日期: 'date',
    时间: 'time',
    日期时间: 'datetime-local',
    邮箱: 'email',
    网址: 'url',
    链接: 'url',
    电话: 'tel',
    复选框: 'checkbox',
    勾选框: 'checkbox',
    勾选: 'checkbox',
    布尔: 'checkbox',
    开关: 'checkbox',
    '是/否': 'checkbox',
    是否: 'checkbox',
    颜色: 'color',
  } satisfies Record<string, FieldType>),
);

/** A bracket that names the unit says that the field is a number. */
const UNITS =
  /^(?:单位[:：为是]?)?(?:元|万元|分钟?|小时|天|周|月|年|秒|公斤|千克|克|斤|公里|千米|米|厘米|毫米|升|毫升|个|件|人|次|页|本|千卡|卡|大卡|岁|%|kg|g|km|m|cm|ml|°C|℃|平方米|平米)$/i;
const MODIFIERS: readonly (readonly [RegExp, Modify])[] = [
  [
    /(?:选填|選填|可选(?!择)|可選(?!擇)|非必填|可不填|不必填|可以不填|可为空|可以为空|可空|可留空)/g,
    (f) => void (f.required = false),
  ],
  [
    /(?:(?:必须|必須|为|是)?必填|必须填写?|不能为空|不可为空|不得为空|不允许为空|不能空|必須填寫)/g,
    (f) => void (f.required = true),
  ],
  [/(?:不能重复|不可重复|不得重复|不允许重复|不重复|唯一|不能重複)/g, (f) => void (f.unique = true)],
  [/(?:可多选|多选框?|多選|可选多个|可以多选|复选(?!框))/g, (f) => void (f.multiple = true)],
  [/(?:单选框?|單選|下拉框?|下拉选择|下拉菜单|下拉列表)/g, (f) => void (f.type ??= 'select')],
  [/(?:多行文本|文本域|长文本)/g, (f) => void (f.type = 'textarea')],
  [/(?:复选框|勾选框|打勾|开关)/g, (f) => void (f.type = 'checkbox')],
  [
    /(\d+)-(\d+)(?:个)?(?:字符?|位|个字)/g,
    (f, a, b) => {
      f.minLength = Number(a);
      f.maxLength = Number(b);
    },
  ],
  [
    /(?:最多|不超过|不多于|不能超过|限|最长|上限|少于|小于|不得超过)(\d+)(?:个)?(?:字符?|位|个字)(?:以内)?/g,
    (f, n) => void (f.maxLength = Number(n)),
  ],
  [/(?:最少|至少|不少于|不低于|多于)(\d+)(?:个)?(?:字符?|位|个字)/g, (f, n) => void (f.minLength = Number(n))],
  [/(\d+)(?:个)?字(?:符)?(?:以内|之内|内)/g, (f, n) => void (f.maxLength = Number(n))],
  [
    /(?:必须|必须是|为|是|长度为?)*(\d+)位(?:数字?)?/g,
    (f, n) => {
      f.minLength = Number(n);
      f.maxLength = Number(n);
    },
  ],
  [
    new RegExp(`(?:必须|应|需|要)?(?:在|为|介于|范围|取值)*${N}${UNIT}-${N}${UNIT}`, 'g'),
    (f, a, b) => {
      f.type = 'number';
      f.min = Number(a);
      f.max = Number(b);
    },
  ],
  [
    new RegExp(
      `(?:必须|应|需|要)?(?:至少|最少|最低|不小于|不低于|不少于|大于等于|最小值?|≥|>=)(?:为|是)?${N}${UNIT}`,
      'g',
    ),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n);
    },
  ],
  [
    new RegExp(
      `(?:必须|应|需|要)?(?:最多|最高|不大于|不超过|不高于|不能超过|小于等于|最大值?|≤|<=)(?:为|是)?${N}${UNIT}`,
      'g',
    ),
    (f, n) => {
      f.type = 'number';
      f.max = Number(n);
    },
  ],
  [
    new RegExp(`(?:必须|应|需|要)?(?:大于|超过|>)${N}${UNIT}`, 'g'),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n) + (/年龄|价|金额/.test(f.label) ? 0.01 : 1);
    },
  ],
  [
    new RegExp(`${N}(?:岁|分|元)?(?:及)?以上`, 'g'),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n);
    },
  ],
  [
    new RegExp(`满分${N}分?`, 'g'),
    (f, n) => {
      f.type = 'number';
      f.min ??= 0;
      f.max = Number(n);
    },
  ],
  [
    /(?:必须是|必须为|为|是)?(?:正整数)/g,
    (f) => {
      f.type = 'number';
      f.integer = true;
      f.min = 1;
    },
  ],
  [
    /(?:必须是|必须为|为|是)?(?:整数)/g,
    (f) => {
      f.type = 'number';
      f.integer = true;
    },
  ],
  [
    /(?:必须是|必须为)(?:正数|数字)|(?:为|是)(?:正数|数字)/g,
    (f, whole) => {
      f.type = 'number';
      if (whole?.includes('正')) f.min = 0;
    },
  ],
];

/** Takes what `text` says of the field out of it and returns what is left. */
export function takeChineseModifiers(text: string, field: DraftField): string {
  let rest = text;
  for (const [pattern, modify] of MODIFIERS) {
    rest = rest.replace(pattern, (...match: unknown[]) => {
      modify(field, ...match.slice(1).filter((group) => typeof group === 'string'));
      return '';
    });
  }
  return rest.trim();
}

/** Reads one bracket behind a field: its options, its type, its bounds. What is none of these is a hint and is dropped. */
export function readChineseBracket(bracket: string, field: DraftField): void {
  const text = bracket
    .trim()
    .replace(/^(?:比如|例如|如|选项|可选项?|单选|下拉|下拉选项|分为|取值|多选|可多选)[:：是为有]*/, (lead) => {
      if (lead.includes('多选')) field.multiple = true;
      return '';
    });
  const type = TYPE_WORDS.get(text);
  if (type !== undefined) field.type = type;
  else if (UNITS.test(text)) {
    field.type ??= 'number';
    if (!/[C℃]$/.test(text)) field.min ??= 0;
  } else readParts(text, field);
}

function readParts(text: string, field: DraftField): void {
  const parts = text
    .split(/\s*[、，,;；|/]\s*|\s+or\s+|或者?|(?<=\p{Script=Han})和(?=\p{Script=Han})/u)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  // "18岁以下、18-30岁、30岁以上" are bands to choose from, not bounds.
  const bands = parts.length > 1 && parts.every((part) => /\d/.test(part) && !/^(?:最|至少|不)|字/.test(part));
  const options = bands ? parts : parts.flatMap((part) => readPart(part, field));
  if (options.length > 1) field.options = [...new Set(options)];
}

/** The option that one part of a bracket is, if it says nothing else of the field. */
function readPart(part: string, field: DraftField): string[] {
  const type = TYPE_WORDS.get(part);
  if (type !== undefined) field.type = type;
  return type === undefined && takeChineseModifiers(part, field) === part ? [part] : [];
}
