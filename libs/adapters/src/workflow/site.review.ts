import { AdapterError } from '../contract/index.js';
import { requestOf } from './site.request.js';
import type { Language, SiteField, SitePlan } from './site.plan.js';
import type { SiteState } from './site.stages.js';
import type { StageAnswer } from './workflow.answers.js';

/** Bounds of what is shown: question and proposal are part of one event. */
const MAX_PROMPT = 1_500;
const MAX_PROPOSAL_BYTES = 5_000;

const WORDS: Readonly<Record<Language, { ask: string; fields: string; actions: string; not: string; list: string }>> = {
  en: {
    ask: 'Shall this be built? Approve it, or answer with the whole request as you want it.',
    fields: 'Fields: ',
    actions: 'Actions: ',
    not: 'Will not be built: ',
    list: ', ',
  },
  zh: {
    ask: '是否按此方案生成？请批准，或直接回复修改后的完整需求。',
    fields: '字段：',
    actions: '操作：',
    not: '不会实现：',
    list: '、',
  },
};

/** A question as a workflow asks it. */
export interface PlanQuestion {
  readonly kind: 'question';
  readonly prompt: string;
  /** The plan that is proposed. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Shows a plan and asks whether it is to be built. */
export function questionAbout(plan: SitePlan): PlanQuestion {
  const words = WORDS[plan.language];
  const lines = [
    words.ask,
    plan.title,
    `${words.fields}${plan.fields.map(({ label }) => label).join(words.list)}`,
    `${words.actions}${plan.actions.map(({ label }) => label).join(words.list)}`,
    ...(plan.unsupported.length === 0 ? [] : [`${words.not}${plan.unsupported.join('; ')}`]),
  ];
  return { kind: 'question', prompt: cut(lines.join('\n'), MAX_PROMPT), arguments: proposalOf(plan) };
}

/** The plan as it is shown: whole, or, when it is large, as many of its fields and actions as there is room for. */
function proposalOf({ title, language, fields, actions, unsupported, notes }: SitePlan): PlanQuestion['arguments'] {
  const whole = {
    title,
    language,
    fields: fields.map(shown),
    actions: actions.map(({ label }) => label),
    unsupported,
    notes,
  };
  if (bytesOf(whole) <= MAX_PROPOSAL_BYTES) return whole;
  const brief = { title, language, fields: [] as object[], actions: [] as string[], left_out: 0 };
  for (const [list, items] of [
    [brief.fields, whole.fields],
    [brief.actions, whole.actions],
  ] as [unknown[], unknown[]][]) {
    for (const item of items) {
      if (bytesOf([brief, item]) <= MAX_PROPOSAL_BYTES) list.push(item);
      else brief.left_out += 1;
    }
  }
  return { ...brief, left_out: brief.left_out + unsupported.length + notes.length };
}

function shown({ label, type, required, options }: SiteField): object {
  return { label, type, required, ...(options === undefined ? {} : { options }) };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** What an answer makes of the plan: it is accepted, or there is another request to plan. */
export function readReview(answer: unknown): Pick<SiteState, 'accepted'> & Partial<Pick<SiteState, 'request'>> {
  const { approved, input, output } = answer as StageAnswer;
  const request = output === undefined ? (input?.trim() ?? '') : requestOf(output);
  if (request !== '') return { accepted: false, request };
  if (approved) return { accepted: true };
  throw new AdapterError('rejected', 'The plan was not accepted, and no other request was given.', { effects: 'none' });
}
