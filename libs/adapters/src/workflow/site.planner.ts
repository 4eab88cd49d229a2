import { readChinese } from './chinese.reader.js';
import { simplify } from './chinese.lexicon.js';
import { readEnglish } from './english.reader.js';
import { chooseFields, planFields } from './field.planner.js';
import { planActions } from './action.planner.js';
import { KEEPING, PLAN_WORDS, say } from './plan.words.js';
import { clip, type Language, MAX_LABEL, type SitePlan } from './site.plan.js';

const MAX_REQUEST = 6000;

export function languageOf(text: string): Language {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const latin = text.match(/[a-z]+/gi)?.length ?? 0;
  return han > latin ? 'zh' : 'en';
}

/** The request tells people apart, which takes a sign-in. */
const ROLES =
  /\b(?:(?:their|his|her|my|your) own|admin(?:istrator)?s?|moderators?|staff|managers|the manager|only|log ?in|sign[- ]in)\b|自己的|管理员|登录|登入/i;
/** Plans a site from the request by rule, the same way each time, and says what it leaves out. */
export function planSite(request: string): SitePlan {
  const text = request.normalize('NFC').slice(0, MAX_REQUEST);
  const language = languageOf(text);
  const draft = language === 'zh' ? readChinese(text) : readEnglish(text);
  const title = clip(draft.title || draft.noun || say(PLAN_WORDS.untitled, language), MAX_LABEL);
  const drafts = chooseFields(draft, text, language);
  const fields = planFields(drafts, draft, language);
  const keeping = KEEPING.test(simplify(text.split(/[，,:：;；。.(（\n]/)[0] ?? ''));
  const actions = planActions(draft, fields, { language, keeping });
  if (ROLES.test(text)) draft.notes.push(say(PLAN_WORDS.open, language));
  return {
    language,
    title,
    collection: collectionOf(draft.noun ?? title),
    fields: fields.map((field) => ({ ...field, label: clip(field.label, MAX_LABEL) })),
    actions: actions.map((action) => ({ ...action, label: clip(action.label, MAX_LABEL) })),
    unsupported: unique(draft.unsupported)
      .slice(0, 40)
      .map((said) => clip(said, 300)),
    notes: unique(draft.notes)
      .slice(0, 40)
      .map((said) => clip(said, 300)),
  };
}

function collectionOf(words: string): string {
  const slug = words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return slug === '' ? 'records' : slug;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
}
