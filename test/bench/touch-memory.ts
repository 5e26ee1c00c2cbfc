import { freemem } from 'node:os';
import type { BenchSize } from './bench-types.ts';
import { runCommand, type CommandUsage } from './measure.ts';

/**
 * The most that one run takes at full size: two big files restored into memory, the process, and some room. The small
 * size measures nothing that this would change.
 */
export const touchedSizeBytes: Readonly<Record<BenchSize, number>> = { full: 3e9, small: 0 };

/** What stays available to everything else on the machine. */
const marginSizeBytes = 2e9;

/** Writes to every page and exits. If memory runs out all the same, the kernel is to kill this process first. */
const script = `
  try { require('node:fs').writeFileSync('/proc/self/oom_score_adj', '1000'); } catch {}
  const pieces = [];
  for (let rest = Number(process.argv[1]); rest > 0; rest -= 2 ** 28) {
    const piece = Buffer.allocUnsafeSlow(Math.min(rest, 2 ** 28));
    for (let offset = 0; offset < piece.length; offset += 4096) piece[offset] = 1;
    pieces.push(piece);
  }`;

/**
 * Uses memory in another process and frees it, so that the next process gets pages that the host of a virtual machine
 * has already provided. The first use of a page is slow, and a host with free page reporting takes free pages back
 * within seconds: writing 2 GB to memory took 1.0 s right after this, and 2.4 s after 40 s without any use. So this is
 * done before each run, not once.
 */
export function touchMemory(sizeBytes: number, log: (line: string) => void): CommandUsage | undefined {
  const touched = boundTouched(sizeBytes, Math.min(freemem(), process.availableMemory()));
  if (touched === 0) return undefined;
  try {
    const usage = runCommand({ file: process.execPath, args: ['-e', script, String(touched)] });
    log(`  touched ${(touched / 1e9).toFixed(2)} GB of memory in ${usage.seconds.toFixed(2)} s`);
    return usage;
  } catch (error) {
    log(`  could not touch ${(touched / 1e9).toFixed(2)} GB of memory: ${String(error)}`);
    return undefined;
  }
}

/** How much of `sizeBytes` may be touched while `availableBytes` are available. */
export function boundTouched(sizeBytes: number, availableBytes: number): number {
  return Math.max(0, Math.min(sizeBytes, availableBytes - marginSizeBytes));
}
