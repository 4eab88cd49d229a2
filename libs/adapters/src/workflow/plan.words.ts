import type { ActionKind, Language } from './site.plan.js';

type Words = Readonly<Record<Language, string>>;

/** What the button or box of an action says; `{}` stands for the field. */
export const ACTION_WORDS: Readonly<Record<ActionKind, Words>> = {
  create: { en: 'Add', zh: '提交' },
  list: { en: 'List', zh: '列表' },
  edit: { en: 'Edit', zh: '编辑' },
  delete: { en: 'Delete', zh: '删除' },
  clear: { en: 'Delete all', zh: '清空全部' },
  search: { en: 'Search', zh: '搜索' },
  filter: { en: 'Filter by {}', zh: '按{}筛选' },
  sort: { en: 'Sort by {}', zh: '按{}排序' },
  export: { en: 'Export {}', zh: '导出 {}' },
  toggle: { en: 'Mark as {}', zh: '标记为{}' },
  set: { en: 'Mark as {}', zh: '标记为{}' },
  vote: { en: 'Vote', zh: '点赞' },
  count: { en: 'Total entries', zh: '总条数' },
  sum: { en: 'Total {}', zh: '{}合计' },
  average: { en: 'Average {}', zh: '平均{}' },
  print: { en: 'Print', zh: '打印' },
  reset: { en: 'Reset form', zh: '重置' },
};

/** The verb a request used, by its stem, as a button says it. */
const VERB_STEMS =
  'add create submit post enter insert save sign register book reserve log record write leave send fill rsvp apply publish store join enrol subscribe order request report rate review comment suggest nominate donate volunteer schedule edit update change modify correct rename amend adjust revise delete remove erase discard cancel unregister withdraw unsubscribe vote upvote like'.split(
    ' ',
  );
const SAID: Readonly<Record<string, string>> = {
  sign: 'Sign up',
  rsvp: 'RSVP',
  fill: 'Submit',
  enter: 'Add',
  store: 'Save',
};

export function verbLabel(verb: string, language: Language): string | undefined {
  if (language === 'zh') return /^\p{Script=Han}{1,6}$/u.test(verb) ? verb : undefined;
  const stem = VERB_STEMS.filter((known) => verb.startsWith(known.replace(/[ey]$/, ''))).sort(
    (a, b) => b.length - a.length,
  )[0];
  return stem === undefined ? undefined : (SAID[stem] ?? stem.charAt(0).toUpperCase() + stem.slice(1));
}

export const PLAN_WORDS = {
  untitled: { en: 'Records', zh: '记录' },
  votes: { en: 'votes', zh: '票数' },
  verdict: { en: 'Status', zh: '状态' },
  undecided: { en: 'Pending', zh: '待处理' },
  created: { en: 'date added', zh: '添加时间' },
  assumed: {
    en: 'The request names no fields; these were assumed: {}.',
    zh: '需求没有写明字段，采用了这些默认字段：{}。',
  },
  noChoices: {
    en: 'No choices are named for {}; it takes any text.',
    zh: '没有写明{}的选项，可填任意文字。',
  },
  excel: {
    en: 'The export is CSV, which Excel opens; an .xlsx file is not written.',
    zh: '导出为 Excel 可打开的 CSV，不生成 .xlsx 文件。',
  },
  open: {
    en: 'There is no sign-in and there are no roles: everyone who opens the page can do all it offers.',
    zh: '没有登录和角色：打开页面的任何人都可以使用全部功能。',
  },
  noTarget: {
    en: 'what "{}" should work on was not found among the fields',
    zh: '没有在字段中找到“{}”要作用的对象',
  },
  tooMany: { en: 'more than {} fields', zh: '超过 {} 个字段' },
} as const satisfies Record<string, Words>;

export function say(words: Words, language: Language, what = ''): string {
  return words[language].replace('{}', () => what);
}

interface Usual {
  readonly when: RegExp;
  readonly en: readonly string[];
  readonly zh: readonly string[];
}

/** The fields of well-known things, for requests that name none. */
export const USUAL_FIELDS: readonly Usual[] = [
  { when: /guest ?book|留言/i, en: ['Name', 'Message'], zh: ['姓名', '留言'] },
  {
    when: /to-?do|task|checklist|待办|任务|清单/i,
    en: ['Title', 'Due date', 'Done'],
    zh: ['标题', '截止日期', '是否完成'],
  },
  { when: /contact form|contact us|联系我们/i, en: ['Name', 'Email', 'Message'], zh: ['姓名', '邮箱', '留言'] },
  { when: /contact|address book|通讯录|联系人/i, en: ['Name', 'Phone', 'Email'], zh: ['姓名', '电话', '邮箱'] },
  {
    when: /feedback|survey|review|反馈|问卷|评价|意见/i,
    en: ['Name', 'Rating', 'Comments'],
    zh: ['姓名', '评分', '意见'],
  },
  {
    when: /expense|budget|spending|账|支出|开销/i,
    en: ['Description', 'Amount', 'Date'],
    zh: ['说明', '金额', '日期'],
  },
  { when: /regist|sign-?up|rsvp|enrol|报名|登记|签到/i, en: ['Name', 'Email', 'Phone'], zh: ['姓名', '电话', '邮箱'] },
  {
    when: /book(?:ing)|reserv|appointment|预约|预订/i,
    en: ['Name', 'Phone', 'Date', 'Time'],
    zh: ['姓名', '电话', '日期', '时间'],
  },
  { when: /books?\b|library|reading|图书|书/i, en: ['Title', 'Author', 'Year'], zh: ['书名', '作者', '出版年份'] },
  { when: /inventory|stock|product|库存|商品|产品/i, en: ['Name', 'Quantity', 'Price'], zh: ['名称', '数量', '价格'] },
  { when: /recipe|菜谱|食谱/i, en: ['Name', 'Ingredients', 'Instructions'], zh: ['名称', '食材', '步骤'] },
  {
    when: /blog|post|article|news|diary|journal|note|博客|文章|公告|日记|笔记/i,
    en: ['Title', 'Content'],
    zh: ['标题', '内容'],
  },
  { when: /^/, en: ['Name', 'Notes'], zh: ['名称', '备注'] },
];

/** Requests of this kind ask for records that are kept in order, so their entries can also be edited and deleted. */
export const KEEPING =
  /\b(?:manag(?:e|es|ing|ement)|(?<!the )manager|track\w*|inventory|to-?do|task|organi[sz](?:e|es|ing)|planner|catalog(?:ue)?|crud|address book|contacts? (?:list|book)|list app|library|collection|log ?book|administration|crm|journal|diary|notes? app)\b|管理(?!员|人员)|系统|待办|清单|通讯录|台账|库存|记账|增删改查|日记|笔记/i;

interface SetVerb {
  readonly when: RegExp;
  /** The state it sets, and the verb on its button. */
  readonly en: readonly [state: string, verb: string];
  readonly zh: readonly [state: string, verb: string];
  /** The verb undoes the state instead. */
  readonly undoes?: boolean;
  /** One of several answers, kept in one choice rather than in a box of its own. */
  readonly verdict?: boolean;
}

/** Verbs that set a state: "approve", "borrow and return", "归档". */
export const SET_VERBS: readonly SetVerb[] = [
  { when: /^approv|^通过|^批准|^审批|^审核/, en: ['Approved', 'Approve'], zh: ['已批准', '批准'], verdict: true },
  { when: /^reject|^declin|^拒绝|^驳回/, en: ['Rejected', 'Reject'], zh: ['已驳回', '驳回'], verdict: true },
  { when: /^accept/, en: ['Accepted', 'Accept'], zh: ['已接受', '接受'], verdict: true },
  { when: /^archiv|^归档/, en: ['Archived', 'Archive'], zh: ['已归档', '归档'] },
  { when: /^borrow|^借出/, en: ['Borrowed', 'Borrow'], zh: ['已借出', '借出'] },
  { when: /^return|^归还/, en: ['Borrowed', 'Return'], zh: ['已借出', '归还'], undoes: true },
  { when: /^claim|^认领/, en: ['Claimed', 'Claim'], zh: ['已认领', '认领'] },
  { when: /^ship|^发货/, en: ['Shipped', 'Ship'], zh: ['已发货', '发货'] },
  { when: /^deliver/, en: ['Delivered', 'Deliver'], zh: ['已送达', '送达'] },
  { when: /^verif|^核销/, en: ['Verified', 'Verify'], zh: ['已核销', '核销'] },
  { when: /^publish/, en: ['Published', 'Publish'], zh: ['已发布', '发布'] },
  { when: /^confirm|^确认/, en: ['Confirmed', 'Confirm'], zh: ['已确认', '确认'] },
  { when: /^resolv|^解决/, en: ['Resolved', 'Resolve'], zh: ['已解决', '解决'] },
  { when: /^clos|^关闭/, en: ['Closed', 'Close'], zh: ['已关闭', '关闭'] },
  { when: /^reopen/, en: ['Closed', 'Reopen'], zh: ['已关闭', '重新打开'], undoes: true },
  { when: /^activat/, en: ['Active', 'Activate'], zh: ['已启用', '启用'] },
  { when: /^deactivat/, en: ['Active', 'Deactivate'], zh: ['已启用', '停用'], undoes: true },
  { when: /^pin|^置顶/, en: ['Pinned', 'Pin'], zh: ['已置顶', '置顶'] },
  { when: /^star|^favou?rit|^收藏/, en: ['Favourite', 'Favourite'], zh: ['已收藏', '收藏'] },
];
