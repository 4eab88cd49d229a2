/** One reference token of a JSON Pointer, its slash included (RFC 6901, section 3). */
export function pointerTo(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
