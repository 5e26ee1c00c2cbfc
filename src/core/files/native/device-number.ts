/**
 * Device numbers as Linux packs them into 64 bits (gnu_dev_makedev): the 12 low bits of the major number at bit 8 and
 * the rest at bit 32; the 8 low bits of the minor number at bit 0 and the rest at bit 12. macOS uses 32 bits and has
 * the major number in the top 8.
 */
const isMacOs = process.platform === 'darwin';

export function deviceMajorOf(device: bigint): number {
  if (isMacOs) return Number((device >> 24n) & 0xffn);
  return Number(((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n));
}

export function deviceMinorOf(device: bigint): number {
  if (isMacOs) return Number(device & 0xffffffn);
  return Number((device & 0xffn) | ((device >> 12n) & 0xffffff00n));
}

export function makeDevice(major: number, minor: number): bigint {
  const high = BigInt(major);
  const low = BigInt(minor);
  if (isMacOs) return (high << 24n) | low;
  return ((high & 0xfffff000n) << 32n) | ((high & 0xfffn) << 8n) | ((low & 0xffffff00n) << 12n) | (low & 0xffn);
}
