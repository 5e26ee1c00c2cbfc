import { quote, shown } from '../words.ts';

/**
 * Keys of paths have their bytes in base64url. Here, a path is a string with one character for each byte: it can be cut
 * and joined, and bytes that are no text stay as they are.
 */

/** The bytes of a key; none for one that somebody has mistyped in the address. */
export function bytesOfKey(key: string): string {
  try {
    return atob(key.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return '';
  }
}

export function keyOfBytes(bytes: string): string {
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function joinKeys(directory: string, name: string): string {
  return directory === '' ? name : keyOfBytes(`${bytesOfKey(directory)}/${bytesOfKey(name)}`);
}

/** The keys of a path and of all directories above it, from the root. */
export function keysAbove(key: string): string[] {
  const names = bytesOfKey(key).split('/');
  return key === '' ? [''] : ['', ...names.map((_, index) => keyOfBytes(names.slice(0, index + 1).join('/')))];
}

/** Makes an absolute path one from the base of a snapshot. */
export function keyInside(key: string, base: string): string {
  const [path, above] = [bytesOfKey(key), bytesOfKey(base)];
  if (path === above || path === '/') return '';
  const start = above.endsWith('/') ? above : `${above}/`;
  return path.startsWith(start) ? keyOfBytes(path.slice(start.length)) : key;
}

export function textOfBytes(bytes: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

/** Quotes the bytes of a word for a shell: where they are no readable text, with escapes, as in bash, zsh and ksh. */
export function quoteBytes(bytes: string): string {
  const text = textOfBytes(bytes);
  if (shown(text) === text && !text.includes('\ufffd')) return quote(text);
  const escaped = bytes.replaceAll(/[^ -~]|['\\]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return `$'${escaped}'`;
}
