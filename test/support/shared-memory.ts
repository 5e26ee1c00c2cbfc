/** A copy in memory that threads share. */
export function shared(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(new SharedArrayBuffer(bytes.length));
  buffer.set(bytes);
  return buffer;
}
