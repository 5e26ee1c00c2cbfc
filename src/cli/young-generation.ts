import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Of both halves together. At less, a backup of unchanged files takes up to a fifth more processor time. */
const SIZE_BYTES_MAX = 16 * 1024 * 1024;
const INTERVAL_MS = 50;

/**
 * Stops the growth of the memory in which V8 creates new objects. Node 24 lets it grow to 128 MiB, Node 20 and 22 to 32,
 * and a backup is no faster for it. A first backup of 56,000 files on Node 24 peaks at 240 MB instead of 327. The option
 * for the maximum has no effect once the program runs; the growth factor has.
 */
export function limitYoungGeneration(): void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    if (young !== undefined && young.space_size < SIZE_BYTES_MAX) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(timer);
  }, INTERVAL_MS);
  timer.unref();
}
