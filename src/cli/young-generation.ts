import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The total of both halves. With less, a backup of unchanged files takes up to a fifth more processor time. */
const SIZE_BYTES_MAX = 16 * 1024 * 1024;
const INTERVAL_MS = 50;

/**
 * Limits the memory in which V8 creates new objects. Node 24 lets it grow to 128 MiB, Node 20 and 22 to 32 MiB, which
 * does not make a backup faster. The peak of a first backup of 56,000 files on Node 24 is 240 MB instead of 327 MB. V8
 * ignores changes of the maximum at runtime, but not of the growth factor.
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
