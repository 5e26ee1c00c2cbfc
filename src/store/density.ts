/** Bytes looked at per sample: enough to tell text and code (below 7 bits a byte) from what is compressed already. */
const SAMPLE_BYTES = 1024;
/** Bits of order-0 entropy per byte; 1024 random bytes have 7.8. */
const DENSE_BITS = 7.3;

const counts = new Uint16Array(256);
/** count x log2(count), so that a sample's entropy is a sum of look-ups. */
const WEIGHTS = Float64Array.from({ length: SAMPLE_BYTES + 1 }, (_, count) =>
  count === 0 ? 0 : count * Math.log2(count),
);

/**
 * Whether bytes look like media, archives or ciphertext, which do not shrink: by the entropy of samples from the
 * middle and from both quarters. Takes 2 us a sample, where a trial compression takes 100.
 */
export function looksDense(bytes: Uint8Array): boolean {
  if (bytes.length < SAMPLE_BYTES) return false;
  const last = bytes.length - SAMPLE_BYTES;
  if (!isDenseAt(bytes, Math.floor(last / 2))) return false;
  return (
    bytes.length < 4 * SAMPLE_BYTES ||
    (isDenseAt(bytes, Math.floor(last / 4)) && isDenseAt(bytes, Math.floor((3 * last) / 4)))
  );
}

function isDenseAt(bytes: Uint8Array, start: number): boolean {
  counts.fill(0);
  for (let index = start; index < start + SAMPLE_BYTES; index += 1) counts[bytes[index]!]! += 1;
  let weight = 0;
  for (let value = 0; value < 256; value += 1) weight += WEIGHTS[counts[value]!]!;
  return Math.log2(SAMPLE_BYTES) - weight / SAMPLE_BYTES > DENSE_BITS;
}
