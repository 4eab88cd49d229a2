/**
 * Always an attachment (RFC 6266): `filename` for old clients in ASCII, `filename*` with the name as it is (RFC 8187).
 * Names come from runners, so what could end the header or lead into a folder is replaced.
 */
export function contentDisposition(name: string): string {
  const plain = lastSegment(name);
  const ascii = plain.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(plain).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return encoded === ascii
    ? `attachment; filename="${ascii}"`
    : `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

function lastSegment(name: string): string {
  const segment =
    name
      .replace(/[\u0000-\u001f\u007f]/g, '_')
      .split(/[/\\]/)
      .at(-1) ?? '';
  return /^\.*$/.test(segment) ? 'artifact' : segment.slice(0, 200).replace(/\p{Cs}/gu, '_');
}
