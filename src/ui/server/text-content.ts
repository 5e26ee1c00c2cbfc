/** Characters that texts do not have, and the one for bytes that are not UTF-8. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const ODD = /[\u0001-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g;
const ODD_SHARE_MAX = 0.3;

/**
 * Returns the text of a file, or undefined if it is binary. `isCut`: the bytes are the beginning of it, and may end
 * within a character.
 */
export function textIn(bytes: Uint8Array, isCut: boolean): string | undefined {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes, { stream: isCut });
  if (text.includes('\0')) return undefined;
  const odd = text.match(ODD)?.length ?? 0;
  return odd > text.length * ODD_SHARE_MAX ? undefined : text;
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
