/**
 * A run of bytes held in a string, one character (0-255) per byte (Node's "latin1").
 * File names are bytes, not text: this form keeps every byte, compares in byte order, is cheap as a Map key, and an
 * ASCII name can go to the system as it is.
 */
export type ByteString = string & { readonly byteString: true };

// oxlint-disable-next-line no-control-regex -- a control character is still a byte of its own
const ASCII_ONLY = /^[\u0000-\u007f]*$/;

/** The bytes of a JavaScript text in UTF-8. */
export function byteStringFromText(text: string): ByteString {
  return (ASCII_ONLY.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')) as ByteString;
}

export function byteStringFromBytes(bytes: Uint8Array): ByteString {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') as ByteString;
}

export function bytesOf(name: ByteString): Buffer {
  return Buffer.from(name, 'latin1');
}

/** What `node:fs` takes: a string where the bytes are ASCII (faster), else a Buffer. */
export function fsPath(path: ByteString): string | Buffer {
  return ASCII_ONLY.test(path) ? path : Buffer.from(path, 'latin1');
}

/** Whether the bytes are well-formed UTF-8, so that `textOf` loses nothing. */
export function isUtf8(name: ByteString): boolean {
  return ASCII_ONLY.test(name) || byteStringFromText(Buffer.from(name, 'latin1').toString('utf8')) === name;
}

/** The bytes read as UTF-8; malformed ones become U+FFFD. For display only. */
export function textOf(name: ByteString): string {
  return ASCII_ONLY.test(name) ? name : Buffer.from(name, 'latin1').toString('utf8');
}

export function joinPath(directory: ByteString, name: ByteString): ByteString {
  return (directory.endsWith('/') || directory === '' ? directory + name : `${directory}/${name}`) as ByteString;
}
