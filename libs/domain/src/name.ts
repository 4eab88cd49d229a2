const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/** True for what may be the name of something: 1 to 200 characters, none of them a control character or half of a pair. */
export function isName(text: string): boolean {
  return NAME.test(text);
}
