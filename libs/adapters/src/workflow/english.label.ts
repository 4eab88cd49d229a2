/** A field's label as the page shows it, or undefined when nothing nameable is left. */
export function cleanLabel(text: string): string | undefined {
  const bare = text
    .replace(/[\u{E000}]/gu, ' ')
    .replace(
      /(?<!^["'\s]*(?:an? |the )?(?:how|what|where|when|who|why|which)\b.*) (?:that |which |who )?(?:they|you|he|she|we|i|it|users?|people|visitors?|customers?) (?:will|want|wants|would|can|could|have|has|had|are|is|did|do|bring|brings|like|need|needs|prefer|choose|plan|expect)\b.*$/i,
      '',
    )
    .replace(/^(?:an? |the )?["'\s:.*-]+|["'\s:.,!?-]+$/gi, '')
    .replace(
      /^(?:(?:an?|the|their|his|her|your|my|its|our|any|some|each|every|also|both|at least|own|full list of|list of|type of the|new|following|optionally|optional|required|and|or|with|as well|for|of|to|individual|please|there|is|e\.g\.|people's|person's|user's|visitor's|customer's|guest's|someone's|one's|fields?|drop ?down(?: (?:list|menu))?(?: for| of)|select(?:ion)?(?: for| of)|(?:text|number|date|input|email|check)[ -]?(?:field|box|input|picker)s? (?:for|to enter|named|called|of)|place for|space for|field for)\s+)+/i,
      '',
    )
    .replace(
      /\s+(?:fields?|inputs?|boxes|box|columns?|input box|drop ?downs?|picker|text ?area|(?:text|number|date|input|email) ?(?:field|box|input|picker)s?|entry field|selector|menu|tick ?box|each|as well|too|there|etc\.?|only|first|here|information|info|(?:for|from|about|by|on|in|to|at) (?:each|every|the|an?|their|this|my|our|your|his|her|that) .*|for it|is|are|which|that|so|while|and|or|must|should)$/gi,
      '',
    )
    .trim();
  const words = bare.split(/\s+/);
  if (bare === '' || words.length > 6 || !/\p{L}/u.test(bare)) return undefined;
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}
