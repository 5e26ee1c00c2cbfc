/** The memory of bytes that go over without a copy, and are gone on this side. Shared memory stays with both. */
export function transferOf(bytes: Uint8Array): ArrayBuffer[] {
  return bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
}
