/**
 * Bytes in a string, one character (0-255) per byte ("latin1" in Node). File names are bytes, not text: this form
 * preserves every byte, sorts in byte order, is cheap as a Map key, and can be passed to the system unchanged if the
 * name is ASCII.
 */
export type ByteString = string & { readonly byteString: true };

// oxlint-disable-next-line no-control-regex -- control characters are valid bytes
const ASCII_ONLY = /^[\u0000-\u007f]*$/;

/** The UTF-8 bytes of a JavaScript string. */
export function byteStringFromText(text: string): ByteString {
  return (ASCII_ONLY.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')) as ByteString;
}

export function byteStringFromBytes(bytes: Uint8Array): ByteString {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') as ByteString;
}

export function bytesOf(name: ByteString): Buffer {
  return Buffer.from(name, 'latin1');
}

/** The bytes of a name, for users of the library, whose types must not depend on those of Node. */
export function nameBytes(name: ByteString): Uint8Array {
  return bytesOf(name);
}

/** A path that a caller names: text, which is encoded as UTF-8, or the bytes themselves. */
export type PathInput = string | Uint8Array;

export function byteStringOf(path: PathInput): ByteString {
  return typeof path === 'string' ? byteStringFromText(path) : byteStringFromBytes(path);
}

/** Returns the text of a path for display. */
export function textOfInput(path: PathInput): string {
  return typeof path === 'string' ? path : textOf(byteStringFromBytes(path));
}

/** Node replaces bytes that are not UTF-8 by this character. */
const REPLACEMENT = '\ufffd';

/** Returns whether bytes may have been lost when a system string was decoded. */
export function isDamagedText(text: string): boolean {
  return text.includes(REPLACEMENT);
}

/** Converts to an argument for `node:fs`: a string if the bytes are ASCII (faster), else a Buffer. */
export function fsPath(path: ByteString): string | Buffer {
  return ASCII_ONLY.test(path) ? path : Buffer.from(path, 'latin1');
}

/** Whether the bytes are well-formed UTF-8, so that `textOf` is lossless. */
export function isUtf8(name: ByteString): boolean {
  return ASCII_ONLY.test(name) || byteStringFromText(Buffer.from(name, 'latin1').toString('utf8')) === name;
}

/** Decodes the bytes as UTF-8; malformed ones become U+FFFD. For display only. */
export function textOf(name: ByteString): string {
  return ASCII_ONLY.test(name) ? name : Buffer.from(name, 'latin1').toString('utf8');
}

export function joinPath(directory: ByteString, name: ByteString): ByteString {
  return (directory.endsWith('/') || directory === '' ? directory + name : `${directory}/${name}`) as ByteString;
}
