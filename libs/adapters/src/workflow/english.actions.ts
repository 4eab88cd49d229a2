import type { DraftAction } from './request.draft.js';

const THING = `(?:(?:an?|the|their|his|her|your|my|its|our|any|all|each|every|single|own|existing|old|individual|selected|wrong|these|those) )*`;
const OBJECT = `(?:it|them|one|${THING}[\\w'-]+(?: [\\w'-]+)?)`;
type Make = (groups: readonly (string | undefined)[], verb: string) => DraftAction[];
const simple =
  (kind: DraftAction['kind']): Make =>
  () => [{ kind }];

/** Said of a request that names an action; the first that matches a segment counts. */
const ACTIONS: readonly (readonly [RegExp, Make])[] = [
  [
    /^(?:export\w*|downloads?|downloading|save|csv|an? csv|excel|json)\b.*?\b(csv|json|excel|spreadsheet|xlsx)\b.*$/,
    ([format]) => [
      {
        kind: 'export',
        value: format === 'json' ? 'json' : 'csv',
        label: format === 'excel' || format === 'xlsx' ? 'excel' : undefined,
      },
    ],
  ],
  [/^(?:an? )?(?:csv|excel|spreadsheet) (?:export|download)s?\b.*$/, () => [{ kind: 'export', value: 'csv' }]],
  [/^(?:an? )?json (?:export|download)s?\b.*$/, () => [{ kind: 'export', value: 'json' }]],
  [
    /^(?:an? )?(?:export\w*|csv(?: file)?|downloads?(?: \w+){0,3})(?: (?:button|option|feature|link|function|list|data|entries|records|all|everything|them|it|the .*))*$/,
    () => [{ kind: 'export', value: 'csv' }],
  ],
  [/^(?:an? )?(?:print\w*)\b.*$/, simple('print')],
  [/^(?:reset|clear)(?:ting|ing)? (?:the )?(?:form|inputs?|fields?)\b.*$|^(?:an? )?reset button$/, simple('reset')],
  [
    /^(?:clear|delete|remove|erase|wipe)(?:ing)? (?:all|everything|the whole list|the list)\b.*$|^(?:an? )?clear(?: all)? button$/,
    simple('clear'),
  ],
  [
    /^(?:an? )?(?:search\w*|find|finding|look(?:ing)? (?:up|for)|lookup|keyword search|full[- ]text search|text search)\b(?:.*?\b(?:by|in|through) (.+))?.*$/,
    simple('search'),
  ],
  [
    /^(?:an? )?(?:[\w-]+ )?filter(?:s|ed|ing|able)?\b(?:.*?\b(?:by|on|for|per|according to|of|to show)\b(.+))?.*$/,
    ([on]) => [{ kind: 'filter', on: on ?? '' }],
  ],
  [/^(?:an? )?([\w-]+(?: [\w-]+)?) filter$/, ([on]) => [{ kind: 'filter', on: on ?? '' }]],
  [
    /^(?:only |just )?(?:show(?:ing)?|view|see|list|display) only (.+)$|^only (?:show|list|see|view) (.+)$/,
    ([a, b]) => [{ kind: 'filter', on: a ?? b ?? '' }],
  ],
  [
    /\b(newest|latest|most recent|oldest|highest|lowest|cheapest|alphabetical\w*|largest|smallest) ?(?:\w+ )??(first|order|on top|at the top)?$/,
    ([word]) => [
      {
        kind: 'sort',
        on: /alphabet/.test(word ?? '')
          ? 'alphabet'
          : /newest|latest|recent|oldest/.test(word ?? '')
            ? 'created'
            : 'number',
        descending: /newest|latest|recent|highest|largest/.test(word ?? ''),
      },
    ],
  ],
  [
    /^(?:.*? )?(?:sort(?:s|ed|ing|able)?|order(?:ed|ing)|rank(?:ed|ing)?|arranged?|group(?:ed|ing)?)\b(?:.*?\b(?:by|on|according to|in)\b(.+))?.*$/,
    ([on]) => [{ kind: 'sort', on: on ?? '' }],
  ],
  [
    new RegExp(
      `^(?:mark|tick|check|set|flag|toggle|move|switch|change|cross)(?:s|ed|ing|ping)?(?: off)?(?: (?:${OBJECT}))?? ?(?:\\b(?:as|to|between|from|status to|state to)\\b)(?: (?:being|is|an?))? ?(.*)$`,
    ),
    ([to]) => [{ kind: 'toggle', on: to ?? '' }],
  ],
  [
    new RegExp(
      `^(?:tick|check|cross|toggle|complete|finish|completing|finishing)(?:s|ed|ing)? (?:off )?(${OBJECT})(?: off)?$`,
    ),
    () => [{ kind: 'toggle', on: '' }],
  ],
  [
    new RegExp(
      `^(?:approv|reject|accept|declin|archiv|borrow|claim|ship|deliver|verif|return|publish|confirm|resolv|clos|reopen|activat|deactivat|pin|star|favou?rit)(?:e|es|ed|ing|s|y|ies)?(?: (?:${OBJECT}).*)?$`,
    ),
    (_, verb) => [{ kind: 'set', on: verb }],
  ],
  [
    /^(?:an? )?(?:(?:up ?-?)?vot(?:e|es|ing)|lik(?:e|es|ing)|thumbs[- ]up|heart|applaud|clap)\b(?: .*)?(?:button)?$/,
    (_, verb) => [{ kind: 'vote', label: verb }],
  ],
  [/\b(?:average|mean)\b(?: of| for)?(?: the| all| their)? ?(.*)$/, ([on]) => [{ kind: 'average', on: on ?? '' }]],
  [
    /\b(?:number|count|how many|counter)(?: of)?\b ?(.*)$|^(?:a )?(?:total|entry|item|record) count$|^count(?:s|ing)?\b.*$/,
    simple('count'),
  ],
  [
    /\b(?:total(?:s)?|sum(?:s)?|overall|running total)\b(?: amounts?)?(?: of| for)?(?: the| all| their)? ?(.*)$/,
    ([on]) => [{ kind: 'sum', on: on ?? '' }],
  ],
  [/^(?:statistics|stats|a summary|summar(?:y|ies|ise|ize)\b.*)$/, () => [{ kind: 'count' }]],
  [
    new RegExp(
      `^(?:an? )?(?:edit|updat|chang|modif|correct|renam|amend|adjust|revis)(?:s|e|es|ed|ing|y|ies|ied|ying|able)?(?: (?:or|and) \\w+)?(?: (?:${OBJECT}).*| button| function| option)?$`,
    ),
    (_, verb) => [{ kind: 'edit', label: verb }],
  ],
  [
    new RegExp(
      `^(?:an? )?(?:delet|remov|eras|discard|cancel|unregister|withdraw|unsubscrib)(?:e|es|ed|led|ing|s|ling|able|ion|al)?(?: (?:${OBJECT}).*| button| function| option)?$`,
    ),
    (_, verb) => [{ kind: 'delete', label: verb }],
  ],
  [
    new RegExp(
      `^(?:an? )?(?:view|see|list|show|display|brows|read|look at|overview|inspect|table|seeing)(?:e|s|es|ed|ing|ings)?(?: (?:of |back )?(?:${OBJECT}).*)?$`,
    ),
    simple('list'),
  ],
  [
    new RegExp(
      `^(?:an? )?(?:add|creat|submit|post|enter|insert|sav|sign up|sign|register|book|reserv|log|record|regist|writ|leav|send|new|fill|rsvp|apply|appl|publish|stor|join|enrol|enroll|subscrib|order|request|report|rat|review|comment|manag|organi[sz]|track|collect|keep|suggest|nominat|donat|volunteer|schedul|check in|maintain)(?:e|es|s|ed|ing|ting|ging|y|ies|ied|ying|ering)?(?: (?:up|in|out|down|for))?(?: (?:${OBJECT}).*)?$`,
    ),
    (_, verb) => [{ kind: 'create', label: verb }],
  ],
];

/** Verbs that are actions even inside a list of fields and standing alone. */
const ALONE =
  /^(?:an? )?(?:search(?:ing)?|delet(?:e|ing|ion)|edit(?:ing)?|remov(?:e|ing)|sort(?:ing)?|filter(?:ing|s)?|exports?|exporting|print(?:ing)?|updat(?:e|ing)|csv|upvot(?:e|es|ing)|vot(?:e|es|ing)|likes?)(?: (?:button|box|bar|option|function|feature|field|ability|functionality|support|form|link)s?)?$/;
const FIELD_TAIL =
  /\b(?:date|time|number|name|title|id|code|type|status|price|amount|day|note|notes|reason|address|rate|author|by|email|phone|text|link|url|word|term)s?$/;

/** The actions a segment names. In a list of fields ("post title, order date") only an unmistakable one counts. */
export function readAction(segment: string, inFields: boolean): DraftAction[] | undefined {
  const text = segment.toLowerCase().trim();
  if (inFields && !clearly(text)) return undefined;
  for (const [pattern, make] of ACTIONS) {
    const match = pattern.exec(text);
    if (match !== null)
      return make(
        match.slice(1).map((group) => group?.trim()),
        // "a book library" has no verb in it.
        /^an? /.test(text) ? '' : (text.split(' ')[0] ?? text),
      );
  }
  return undefined;
}

function clearly(text: string): boolean {
  if (ALONE.test(text)) return true;
  if (
    /\b(?:export|download)\w* (?:to|as|the|all|list|entries|data|records)\b|\bcsv\b|\b(?:filter|sort|search|order)(?:s|ed|ing|able)? (?:by|on|for|function|box|bar|the)\b|\bfilters?$|\bfirst$(?<!\bname first)|^(?:an? )?(?:total|count|average|sum|number)(?: (?:number|count|sum))? (?:of|for) (?:all|the|every|entries|records|items|(?:\w+ )?\w+s$)/.test(
      text,
    )
  ) {
    return !/^(?:number|count) of \w+$|^(?:a )?number of \w+$/.test(text);
  }
  const verb =
    /^(?:edit|delete|remove|update|change|modify|search|find|sort|filter|view|see|browse|list|show|display|mark|tick|check|toggle|approve|reject|cancel|add|create|submit|post|save|print|export|download|vote|like|clear|reset|editing|deleting|removing|updating|searching|sorting|filtering|viewing|exporting|marking|voting|adding)\b(?: (.+))?$/.exec(
      text,
    );
  if (verb === null) return false;
  const rest = verb[1];
  if (rest === undefined) return false;
  return (
    /^(?:it|them|off|as|by|an?|the|their|his|her|your|my|its|our|any|all|each|every|single|own|existing|old|entries|records|items|only)\b/.test(
      rest,
    ) ||
    (/s$/.test(rest) && !FIELD_TAIL.test(rest))
  );
}
