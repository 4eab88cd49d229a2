import type { SiteState } from './site.stages.js';
import type { Language } from './site.plan.js';

interface Words {
  readonly built: (title: string, files: number, archive: string) => string;
  readonly fields: string;
  readonly actions: string;
  readonly tests: (passed: number, failed: number) => string;
  readonly failed: string;
  readonly unsupported: string;
  readonly notes: string;
  readonly parsed: string;
  readonly start: string;
  readonly optional: string;
  readonly list: string;
}

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    built: (title, files, archive) =>
      `Built "${title}": a page with its back end, ${String(files)} files, together in ${archive}.`,
    fields: 'Fields: ',
    actions: 'Actions: ',
    tests: (passed, failed) => `Tests: ${String(passed)} passed, ${String(failed)} failed.`,
    failed: 'Failed: ',
    unsupported: 'Not built, because this builder cannot do it:',
    notes: 'Notes:',
    parsed: 'The code was written by a model; it was parsed, not run, so only the page was checked.',
    start: 'Start it with: node server.mjs 3000',
    optional: ' (optional)',
    list: ', ',
  },
  zh: {
    built: (title, files, archive) =>
      `已生成“${title}”：一个带后端的页面，共 ${String(files)} 个文件，打包在 ${archive} 中。`,
    fields: '字段：',
    actions: '操作：',
    tests: (passed, failed) => `测试：${String(passed)} 项通过，${String(failed)} 项失败。`,
    failed: '失败：',
    unsupported: '以下内容本工具无法实现，没有生成：',
    notes: '说明：',
    parsed: '代码由模型编写，只做了语法检查，没有运行，因此只检查了页面。',
    start: '启动方式：node server.mjs 3000',
    optional: '（选填）',
    list: '、',
  },
};

/** The answer in words: what was built, how it was tested, and what was not built. */
export function describeSite({ plan, files, archive, report, executed, codeBy }: SiteState): string {
  const words = WORDS[plan.language];
  const fields = plan.fields.map(({ label, required }) => (required ? label : `${label}${words.optional}`));
  const failed = report.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const lines = [
    words.built(plan.title, files.length, archive),
    `${words.fields}${fields.join(words.list)}`,
    `${words.actions}${plan.actions.map(({ label }) => label).join(words.list)}`,
    words.tests(report.passed, report.failed),
    ...(failed.length > 0 ? [`${words.failed}${failed.slice(0, 20).join('; ')}`] : []),
    ...(codeBy === 'model' && !executed ? [words.parsed] : []),
    ...section(words.unsupported, plan.unsupported),
    ...section(words.notes, plan.notes),
    words.start,
  ];
  return lines.join('\n');
}

function section(head: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [head, ...lines.map((line) => `- ${line}`)];
}
