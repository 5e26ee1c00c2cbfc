import { readFileSync } from 'node:fs';

/** Capabilities that decide which attributes a process sees or may set; see capabilities(7). */
export const CAPABILITY = { linuxImmutable: 9, sysAdmin: 21 } as const;

/** Returns whether this process has a capability now. Elsewhere than on Linux, root has all of them. */
export function hasCapability(number: number): boolean {
  try {
    const found = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
    return found !== undefined && ((BigInt(`0x${found}`) >> BigInt(number)) & 1n) === 1n;
  } catch {
    return process.geteuid?.() === 0;
  }
}
