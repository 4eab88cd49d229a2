import type { DraftAction } from './request.draft.js';

type Make = (groups: readonly (string | undefined)[]) => DraftAction[];
const simple =
  (kind: DraftAction['kind']): Make =>
  () => [{ kind }];
const named =
  (kind: DraftAction['kind']): Make =>
  ([verb]) => [{ kind, label: verb }];
const PRE =
  '(?:可以|能够|能|可|支持|允许|用户|访客|自己|随时|一键|批量|对.{1,8}?进行|进行|将.{1,6}?|把.{1,6}?|给.{1,6}?|为.{1,6}?)*';

const ACTIONS: readonly (readonly [RegExp, Make])[] = [
  [
    /(?:导出|下载|汇出).*?(csv|json|excel|表格)|(?:导出|下载|汇出)/i,
    ([format]) => [
      {
        kind: 'export',
        value: /json/i.test(format ?? '') ? 'json' : 'csv',
        label: /excel/i.test(format ?? '') ? 'excel' : undefined,
      },
    ],
  ],
  [new RegExp(`^${PRE}打印`), simple('print')],
  [/(?:重置|清空)(?:表单|输入)|^重置(?:按钮)?$/, simple('reset')],
  [/(?:清空|全部删除|删除(?:全部|所有))/, simple('clear')],
  [
    /^(?:可以|能够|能|可|支持|用户)*(?:只|仅)(?:显示|看|查看)(.+?)(?:的.*)?$/,
    ([on]) => [{ kind: 'filter', on: on ?? '' }],
  ],
  [
    /(?:按照?|根据|依据?|通过|用)(.+?)(?:来|进行|的)?(?:筛选|过滤|分类查看|分类显示)/,
    ([on]) => [{ kind: 'filter', on: on ?? '' }],
  ],
  [/^(.*?)(?:筛选|过滤)(.*)$/, ([before, after]) => [{ kind: 'filter', on: `${before ?? ''}${after ?? ''}` }]],
  [/(?:按照?|根据|依据?|通过|用)(.+?)(?:来|进行|的)?(?:搜索|查找|查询|检索|搜寻)/, simple('search')],
  [/(搜索|查找|查询|检索|搜寻)/, named('search')],
  [
    /(?:按照?|根据|依据?)?(.*?)(?:来|进行|的)?(?:从(?:新到旧|高到低|大到小|旧到新|低到高|小到大))?(?:(倒序|降序|升序|正序)|排序|排列|排名)/,
    ([on, order]) => [{ kind: 'sort', on: on ?? '', descending: /倒|降/.test(order ?? '') || undefined }],
  ],
  [/最新(?:的)?.{0,6}(?:在|排|放|靠)在?最?(?:前|上|顶)/, () => [{ kind: 'sort', on: 'created', descending: true }]],
  [
    new RegExp(`^${PRE}(?:标记|标为|设为|设置|切换|勾选|打勾|打钩|改为|变为)(?:为|成|是|状态)?(?:已)?(.*)$`),
    ([to]) => [{ kind: 'toggle', on: to ?? '' }],
  ],
  [
    new RegExp(
      `^${PRE}(通过|拒绝|批准|驳回|借出|归还|归档|认领|发货|核销|确认|解决|关闭|置顶|收藏|审批|审核)(?:.{0,6})$`,
    ),
    ([verb]) => [{ kind: 'set', on: verb ?? '' }],
  ],
  [/(点赞|投票|顶一下|喜欢)/, named('vote')],
  [/平均(?:值|数)?(?:的)?(.*)$/, ([on]) => [{ kind: 'average', on: on ?? '' }]],
  [
    /(?:总(?:数|条数|人数|量|共)|(?:数量|人数|条数)统计|统计(?:数量|人数|总数|条数)|(?<!合)计数|一共多少|多少[条个人本])/,
    simple('count'),
  ],
  [
    /(?:合计|总计|总额|求和|总和|汇总|总(?:金额|价|支出|收入|花费|分|时长|费用))(.*)$|统计(?:总)?(.+)$/,
    ([a, b]) => [{ kind: 'sum', on: a ?? b ?? '' }],
  ],
  [/^统计/, simple('count')],
  [new RegExp(`^${PRE}(编辑|修改|更新|更改|改正|修订|变更)`), named('edit')],
  [
    new RegExp(`^${PRE}(删除|移除|删掉|撤回|取消(?:预约|预订|报名|订单|申请|登记)?|删)(?!原因|时间|日期)`),
    named('delete'),
  ],
  [new RegExp(`^${PRE}(?:查看|浏览|显示|展示|列出|看到|看|预览|列表|阅读)`), simple('list')],
  [/^(?:.{0,6})(?:列表|一览)(?:展示|显示|页|查看)?$/, simple('list')],
  [
    new RegExp(`^${PRE}(?:增删改查)`),
    () => [{ kind: 'create' }, { kind: 'delete' }, { kind: 'edit' }, { kind: 'list' }],
  ],
  [
    new RegExp(
      `^${PRE}(新增|添加|新建|增加|创建|提交|发布|发表|报名|预约|预订|登记|留言|录入|注册|签到|投稿|申请|订餐|点餐|记录|保存|上报|管理|写|填写|收集|领取|借阅|订阅|下单|评价|评论)`,
    ),
    named('create'),
  ],
];

const CLEAR = new RegExp(
  `^(?:(?:并|还|也|且|同时|再)?(?:可以|能够|能|可|支持|允许)|(?:搜索|查找|查询|检索|排序|筛选|过滤|导出|删除|编辑|修改|打印|点赞|清空)(?:功能|按钮|框|留言|记录|条目|数据|列表|csv|为|成|到)?|按.+(?:搜索|查找|查询|排序|排列|筛选|过滤)|(?:增删改查)|(?:提交|查看|浏览|显示|新增|添加|标记|勾选|统计|删除|编辑|修改|导出|列出)[^日时人方地原内数].{0,})`,
  'i',
);

/** "添加删除", "新增修改查询": verbs with nothing between them. */
const VERB = /新增|添加|增加|创建|修改|编辑|更新|删除|查看|浏览|查询|搜索|查找|导出|打印/g;
const VERBS = new RegExp(`^${PRE}((?:${VERB.source}){2,})`);

/** The actions a part names. In a list of fields ("提交日期", "查询编号") only an unmistakable one counts. */
export function readChineseAction(text: string, inFields: boolean): DraftAction[] | undefined {
  const bare = text.replace(/(?:等)?(?:功能|按钮|操作|的功能)$/, '');
  if (bare === '' || (inFields && !clearly(text))) return undefined;
  const run = VERBS.exec(bare)?.[1];
  if (run !== undefined) return (run.match(VERB) ?? []).flatMap((verb) => readChineseAction(verb, false) ?? []);
  for (const [pattern, make] of ACTIONS) {
    const match = pattern.exec(bare);
    if (match !== null) return make(match.slice(1).map((group) => group?.trim()));
  }
  return undefined;
}

function clearly(text: string): boolean {
  if (/(?:功能|按钮)$/.test(text)) return true;
  if (
    /(?:日期|时间|人|编号|方式|原因|内容|地址|金额|次数|状态|类型|备注|说明|者|数量|名称)$/.test(text) &&
    !/(?:可以|能够|支持|允许|按.+排序|筛选|导出)/.test(text)
  )
    return false;
  return CLEAR.test(text);
}
