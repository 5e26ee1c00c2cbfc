/** Control characters, and those that turn the direction of a text around or are not seen. */
const MARKS = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029/\\]/gu;
/** What RFC 8187 does not allow as it is, but `encodeURIComponent` leaves. */
const NOT_ENCODED = /['()*]/g;

/**
 * Returns a `Content-Disposition` that saves a download under a name: twice, in ASCII for old programs and in UTF-8 (RFC
 * 6266, RFC 8187). Bytes of a name that are not UTF-8 have become U+FFFD.
 */
export function attachmentOf(name: string): string {
  const safe = name.replaceAll(MARKS, '_');
  const ascii = safe.replaceAll(/[^ -~]|["%]/gu, '_');
  const encoded = encodeURIComponent(safe).replaceAll(
    NOT_ENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
