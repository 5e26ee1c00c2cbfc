const IEC_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  kib: 2 ** 10,
  m: 2 ** 20,
  mib: 2 ** 20,
  g: 2 ** 30,
  gib: 2 ** 30,
  t: 2 ** 40,
  tib: 2 ** 40,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
};

/** Formats a size in IEC units with one decimal from KiB up: `0 B`, `1.5 KiB`, `12.0 GiB`. */
export function formatBytes(sizeBytes: number): string {
  let value = sizeBytes;
  let unit = 0;
  // 1023.95 would be rounded to "1024.0" of the smaller unit.
  while (Math.abs(value) >= (unit === 0 ? 1024 : 1023.95) && unit < IEC_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? String(value) : value.toFixed(1)} ${IEC_UNITS[unit]!}`;
}

/**
 * Parses a size such as `64MiB`, `64M` (both binary), `64MB` (decimal), `1.5 GiB` or `1048576` (bytes). Returns whole
 * bytes, or undefined if the text is not a size or is too large to represent exactly.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unitBytes = match === null ? undefined : UNIT_BYTES[match[2]!.toLowerCase()];
  if (match === null || unitBytes === undefined) return undefined;
  const sizeBytes = Math.round(Number(match[1]) * unitBytes);
  return Number.isSafeInteger(sizeBytes) ? sizeBytes : undefined;
}
