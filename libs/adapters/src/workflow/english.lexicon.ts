import type { FieldGuess } from './field.guess.js';

/** Read against the whole label first, so that "start time" and "date of birth" find their row; the first match counts. */
export const ENGLISH_TYPES: readonly (readonly [RegExp, FieldGuess])[] = [
  [/\b(date[ -]?time|date and time|time ?stamp)\b/, { type: 'datetime-local' }],
  [/\b(e-?mails?|e-?mail address(es)?)$/, { type: 'email' }],
  [
    /\b(phone|mobile|telephone|tel|cell ?phone|fax|whatsapp)( (no|nr|num|number)s?\.?)?s?$|^contact number$/,
    { type: 'tel' },
  ],
  [/\b(urls?|websites?|web ?site|web address|links?|home ?page|linkedin|github)$/, { type: 'url' }],
  [/\b(image|photo|picture|avatar|logo) (url|link)$/, { type: 'url' }],
  [/^(date|day) of\b|\bdates?\b|\b(birthday|dob|deadline|anniversary|due (on|by))$|^(when|due|day)$/, { type: 'date' }],
  [
    /\b(cooking|prep(?:aration)?|baking|travel|screen|reading|response|waiting|lead|running|play(?:ing)?|total|finish|race|best|spare|free|full|part) time$/,
    { type: 'text' },
  ],
  [/^time of\b|\btimes?$/, { type: 'time' }],
  [/\byear\b(?! of experience)/, { type: 'number', integer: true, min: 1000, max: 9999 }],
  [/^(price|cost|fee|rate|amount|distance|weight) per\b/, { type: 'number', min: 0 }],
  [/^(amount|price|cost|total|fee|money) \w+$/, { type: 'number', min: 0 }],
  [
    /^(number|quantity|hours|days|minutes|units|copies|pages) \w+(ed|en|d|t)$/,
    { type: 'number', integer: true, min: 0 },
  ],
  [/\b(journal|diary|log) entry$/, { type: 'textarea' }],
  [/^(why|reason for)\b/, { type: 'textarea' }],
  [/^how (much|many|often|long|far)\b/, { type: 'text' }],
  [
    /\b(odometer|litres|liters|speed|age in|power|score|systolic|diastolic|pulse|heart rate|bpm)\b/,
    { type: 'number', min: 0 },
  ],
  [/^(is|has|have|whether|was|are|does|did|do|can|will|wants?|needs?)\b/, { type: 'checkbox' }],
  [
    /\b(check ?box|done|completed?|finished|paid|available|agree(d|ment)?|consents?|subscribed|newsletter|favou?rited?|urgent|attending|confirmed|verified|resolved|in stock|vegetarian|vegan|attended|returned|shipped|delivered|approved|published|archived|yes\/no|opt[- ]?in|terms and conditions|accept terms|purchased|bought|packed|watched|smoker|vaccinated|answered|needed|included|allowed)$/,
    { type: 'checkbox' },
  ],
  [
    /^(rating|stars?|star rating|(overall )?satisfaction( score)?)$|\brating$/,
    { type: 'number', integer: true, min: 1, max: 5 },
  ],
  [/^age\b|\bage$/, { type: 'number', integer: true, min: 0, max: 150 }],
  [/\b(percent(age)?|discount|progress)$|%$/, { type: 'number', min: 0, max: 100 }],
  [/\b(temperature|balance|latitude|longitude|profit)$/, { type: 'number' }],
  [
    /\bper (day|week|month|hour|night|person)$|\b(hours?|minutes|days|weeks|months|seconds|duration|value|worth|prices?|costs?|amount|total|fee|salary|wage|budget|income|weight|height|width|length|depth|distance|rate|volume|area|square (feet|met(er|re)s)|dosage|kg|km|miles|litres?|liters?|revenue|expense|tip|tax|grade point|gpa|deposit|rent|score)$/,
    { type: 'number', min: 0 },
  ],
  [
    /^(number|count|amount|quantity|no\.?) of\b|\b(quantity|qty|count|stock|stock level|points|copies|guests|people|persons|seats|adults|children|kids|nights|calories|pages|page count|steps|reps|repetitions|sets|laps|mileage|servings|capacity|tickets|units|units? sold|rooms|bedrooms|bathrooms|floors|head ?count|group size|party size|years of experience|cups|glasses|goals|wins|losses|age limit|number in stock|size of (party|group|team))$/,
    { type: 'number', integer: true, min: 0 },
  ],
  [
    /\b(notes?|remarks?|additional (info|information|comments)|special (requests?|requirements|instructions)|anything else|other (info|information|comments))$/,
    { type: 'textarea', optional: true },
  ],
  [
    /\b(messages?|comments?|descriptions?|content|body|details|bio(graphy)?|feedback|ingredients|instructions|directions|preparation|method|review|reviews|text|summary|story|abstract|essay|suggestions?|reflections?|thoughts|explanation|about|lyrics|cover letter|experience|symptoms|steps to reproduce|agenda|minutes text|procedure|complaint|motivation|definition|quote|address)$/,
    { type: 'textarea' },
  ],
];

/** Heads of fields that are usually one of a few choices: "priority low, medium or high". */
export const CHOICE_HEADS =
  '(?:priority|status|state|category|type|kind|level|size|gender|sex|choice|option|severity|mood|difficulty|genre|department|role|meal|colou?r|plan|shift|stage|condition|unit|currency|frequency|class|tier|rating|preference|method|format|language|position|team|session|track|topic|course|flavou?r|attendance|response|breed|species)';

/** How far an unsupported phrase reaches: "log in with Google", "send a mail to the owner". */
export const TAIL =
  '(?: (?:(?:with|by|via|to|from|for|of|in|through|using) (?:\\w+ )?[\u{E100}-\u{E1FF}]|with (?:an? )?(?:[A-Z]\\w+|credit cards?|card)|(?:via|by|through|using|to|from|when|whenever|on|if|after|before|of|into) (?!sort|filter)[^,.;:()]*?)(?=\\s(?:and|or|where|so)\\b|[,.;:()]|$))?';

/** What this builder does not do. The named guard keeps plain fields such as "payment date" out. */
const FIELD_HEAD =
  '(?! (?:method|date|amount|status|type|due|reference|note|terms|time|text|name|number|id|field|address|title|category|preference|handle|code|day|frequency)s?\\b)';

export const ENGLISH_UNSUPPORTED: readonly RegExp[] = [
  new RegExp(
    `\\b(?:pay(?:ing)?\\b(?= (?:online|by|with|via|through|using|for|their|the|a))|payments?\\b${FIELD_HEAD}|paypal|stripe|apple pay|google pay|credit[- ]cards?\\b${FIELD_HEAD}|check ?outs?\\b(?! date| time|-)(?= process| with| page|$)|shopping cart|subscriptions? billing|bitcoin|crypto)\\b`,
  ),
  /\b(?:log ?ins?|log(?:ging)? in|sign(?:ing)?[- ]in(?! (?:sheet|form|log|book|list|time|date|register|page for|table))|log ?out|sign[- ]?out|single sign[- ]on|sso|oauth2?|authenticat\w+|user accounts?|accounts? for|(?:own|an) accounts?|passwords?|two[- ]factor|2fa|captcha|permissions?|user roles?|role[- ]based|access control|admin(?:istrator)?s? (?:panel|dashboard|area|only|role|login|page|view)|only (?:the )?(?:admins?|administrators?|owners?|staff|managers?|organi[sz]ers?|moderators?|logged[- ]in|registered)\b|password[- ]protect\w*|private to|multi[- ]?user)\b/,
  new RegExp(
    `\\b(?:(?:send|sends|sending|receive|get|gets) (?:\\w+ ){0,4}?(?:e-?mails?|sms|text messages?|texts|notifications?|reminders?|alerts?|newsletters?|invitations?|confirmations?|receipts?|whatsapp)\\b|(?:e-?mail|sms|text|push|browser|desktop|slack|automatic) (?:\\w+ )?(?:notifications?|reminders?|alerts?|confirmations?|messages|invitations?|verification)|(?:confirmation|reminder|notification|welcome|thank[- ]you|follow[- ]up) e-?mails?|notif(?:y|ies|ied|ications?)\\b${FIELD_HEAD}|remind(?:s|ed)?\\b(?= \\w+)|reminders?\\b${FIELD_HEAD}|alerts? (?:me|us|when|the)|by (?:e-?mail|sms)|e-?mails? (?:me|us|them|the \\w+|a copy|it|each|every|out)\\b)`,
  ),
  /\b(?:upload\w*|attach(?:ments?|ing|ed)?|file picker|(?:take|add|with) (?:a |an )?(?:photos?|pictures?|images?|files?|videos?)|camera|scan(?:s|ning)?\b(?= (?:a |the )?(?:barcode|qr|receipt|document)s?)|record (?:audio|video|voice)|(?:voice|audio|video) (?:input|recording|messages?|calls?)|speech recognition)\b/,
  /^(?:an? |the )?(?:\w+ )?(?:maps?|calendar|chat|notifications?|newsletter sign-?up)$/,
  /^(?:an? |the |their |profile |cover |product )*(?:photos?|pictures?|images?|avatars?|files?|resume|cv|curriculum vitae|screenshots?|thumbnail|document)(?: files?)?$/,
  /\b(?:google maps?|interactive maps?|maps? (?:view|of|with|showing)|on (?:a|the) map|geo-?locat\w+|gps|current location|nearby|route planning)\b/,
  /\b(?:real[- ]?time|live (?:updates?|chat|feed|location|scores?|prices?)|web ?sockets?|chat(?:bots?|ting| rooms?)?\b|instant messag\w+|video conferenc\w+|stream(?:s|ing)?)\b/,
  /\b(?:charts?|graphs?|histogram|plots?\b(?= (?:the|a|of|my))|pie|heat ?map|calendar (?:view|sync|integration|page)|(?:in|on|as) a calendar|gantt|kanban|drag[- ]and[- ]drop|drag\w*|timeline view|dashboards?)\b/,
  /\b(?:ai|gpt|chatgpt|llm|machine learning|artificial intelligence|neural|recommendation (?:engine|system)s?|personali[sz]ed recommend\w*|predict\w*|sentiment|face recognition|ocr|translat(?:e|es|ing|ion|ions)\b(?! (?:field|text)))\b/,
  /\b(?:integrat\w+|sync(?:s|ed|ing|hroni[sz]\w+)?|google (?:sheets?|calendar|drive|docs|forms|analytics|account)|facebook|twitter|instagram|tweet\w*|discord|telegram|zapier|salesforce|mailchimp|notion|webhooks?|third[- ]party|social (?:media|sharing|login)|share (?:on|to|via|with|it|them|the)\b|rss(?: feeds?)?|api keys?)\b/,
  /\b(?:pdfs?|word documents?|docx|import\w*|bulk (?:upload|edit|add)|back ?ups?|paginat\w*|undo|redo|version history|audit trail|offline mode|pwa|barcodes?|qr(?: codes?)?)\b/,
  /\b(?:native (?:mobile )?app|mobile app|android|ios app|iphone|app store|desktop app|browser extension|voice assistant|alexa)\b/,
  /\b(?:mysql|postgres\w*|mongodb|sqlite|firebase|supabase|redis|sql database|react(?:\.?js)?|vue(?:\.?js)?|angular|svelte|next\.?js|django|flask|laravel|wordpress|php|docker|kubernetes|aws|deploy\w*|host(?:ed|ing)?\b(?= (?:it|on|the site)))\b/,
  /\b(?:recurring|repeat(?:s|ing)? (?:every|weekly|daily|monthly)|schedul(?:e|es|ed|ing) (?:e-?mails?|posts?|jobs?|tasks to)|cron|auto(?:matic(?:ally)?)?[- ]?(?:delete|archive|expire|close|assign|calculate|generate|send|renew|save)\w*|every (?:night|hour|morning) (?:the|it))\b/,
  /\b(?:calculat(?:e|es|ed|ing|or)|convert(?:s|er|ing)?|comput(?:e|es|ed|ing)|exchange rates?|weather|stock (?:prices?|quotes)|crawl\w*|scrap(?:e|es|ing)\b|play(?:s|ing)? (?:a |the )?(?:sound|music|song|video|jingle)s?|games?\b(?= (?:where|with|that|in))|3d|animation\w*|multi[- ]?(?:lingual|language)|two languages|language switch\w*|dark mode|themes?\b(?= switch|s))\b/,
  /\b(?:repl(?:y|ies|ying)(?: to)?|threads?|nested|sub-?tasks?|like each other|follow(?:ers)?|friends?(?: requests?)?|moderat(?:e|es|ion|ing)|profanity|spam (?:filter|protection)|encrypt\w*|digital signatures?|e-?signatures?|seating plan|seat map|time ?zones?|waiting list|wait ?list)\b/,
];

/** Words about looks, politeness and technique that neither name a field nor an action. */
export const ENGLISH_IGNORED: readonly RegExp[] = [
  /^(?:please|thanks?(?: you)?|thank you.*|hi|hello|hey.*|ok(?:ay)?|etc\.?|so on|more|back|that'?s (?:it|all)|nothing else|others?)$/,
  /\b(?:clean|simple|nice|modern|pretty|minimal\w*|responsive|beautiful|basic|small|friendly|accessible|tidy|elegant|plain|fast|easy|intuitive|attractive|professional|lightweight|mobile[- ]friendly|user[- ]friendly)\b(?: \w+){0,3}$/,
  /\b(?:back[- ]?end|front[- ]?end|html|css|javascript|node(?:\.?js)?|rest api|api|database|server|json(?: file)?|http)$/,
  /^(?:a |an |the |one |some |its |my |our )*(?:web ?)?(?:\w+ )?(?:page|site|website|app|form|tool|table|grid|cards?|button|section|header|footer|heading|title bar|layout|design|interface|ui|view|screen|look|style|inputs?|fields?|column|columns|input fields?|text boxes|details?|information|info|data|features?|functions?|functionality|actions?|buttons|ability|option|crud|validation|error messages?)$/,
  /^(?:it|them|they|this|that|these|those|all|everything|each|one|some|any|everyone|anyone|people|users?|visitors?|customers?|me|us|you|which|who|there|here|below|above)$/,
  /\b(?:persist\w*|stored? (?:on|in|them|it|the data)|saved? (?:on|in|them|it|the data)|are (?:saved|stored|kept)|is (?:saved|stored|kept)|remember(?:s|ed)?|should work|must work|validat\w+|make sure|keep it)\b/,
];
