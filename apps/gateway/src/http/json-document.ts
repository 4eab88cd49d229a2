/** Where a member of the outermost object stands in its text. */
export interface MemberOffsets {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
}

/** JSON that was read, with the spelling of each member of its outermost object: `1.0` is still `1.0` there. */
export class JsonDocument<T = unknown> {
  constructor(
    readonly value: T,
    private readonly text: string,
    private readonly members: readonly MemberOffsets[],
  ) {}

  /** The member of this name exactly as it was sent; undefined when there is none. */
  textOf(name: string): string | undefined {
    const member = this.members.find(({ keyStart, keyEnd }) => unescapeKey(this.text.slice(keyStart, keyEnd)) === name);
    return member && this.text.slice(member.start, member.end);
  }

  /** The same text, its value known to be a `U`. */
  as<U extends T>(value: U): JsonDocument<U> {
    return new JsonDocument(value, this.text, this.members);
  }
}

/** The name that a key, written like this between its quotes, stands for. */
export function unescapeKey(raw: string): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}
