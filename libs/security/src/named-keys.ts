const KEY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{22,}={0,2})$/;

/** `kid:base64,kid:base64`, in order. Undefined when the text is none, or `read` does not take one of them. */
export function parseNamedKeys<Key extends { readonly id: string }>(
  text: string,
  read: (id: string, bytes: Buffer) => Key | undefined,
): readonly Key[] | undefined {
  const keys = text.split(',').map((part) => {
    const [, id, bytes] = KEY.exec(part.trim()) ?? [];
    return id === undefined || bytes === undefined ? undefined : read(id, Buffer.from(bytes, 'base64'));
  });
  const known = keys.filter((key) => key !== undefined);
  const isUnique = new Set(known.map((key) => key.id)).size === keys.length;
  return known.length === keys.length && isUnique ? known : undefined;
}
