import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { collectGarbage } from '../core/util/garbage.ts';
import { loadSystemLibrary } from '../core/util/system-library.ts';

/** The total of both halves. With 16 MiB, a backup takes no less processor time and 8 MB more memory. */
const YOUNG_BYTES_MAX = 8 * 1024 * 1024;
/** How much the memory of buffers may grow before short-lived ones are collected. By default, that is 32 MiB. */
const BUFFER_BYTES_GROWTH_MAX = 4 * 1024 * 1024;
const USED_BYTES_MIN = 24 * 1024 * 1024;
const INTERVAL_MS = 50;

/** How much the heap may grow before all garbage is collected again. */
const GROWTH_MAX = 2;
/** The same with a limit of memory, which takes more processor time. */
const LIMITED_GROWTH_MAX = 1.25;

/** Keeps the heap of V8 small. The options that set its limits have no effect once the program runs. */
export function limitHeap(isMemoryLimited: boolean): void {
  limitYoungGeneration();
  collectGarbageInTime(isMemoryLimited ? LIMITED_GROWTH_MAX : GROWTH_MAX);
}

/**
 * Limits the memory in which V8 creates new objects. Node 24 lets it grow to 128 MiB, Node 20 and 22 to 32 MiB, which
 * does not make a backup faster. V8 ignores changes of the maximum at runtime, but not of the growth factor, which each
 * thread that starts sets to 2 again.
 */
function limitYoungGeneration(): void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    if (young === undefined || young.space_size >= YOUNG_BYTES_MAX) setFlagsFromString('--semi-space-growth-factor=1');
  }, INTERVAL_MS);
  timer.unref();
}

/**
 * Collects all garbage whenever the heap is twice as large as after the last time, which takes 15 ms for a heap of 30 MB.
 * V8 lets a heap grow to 170 MB before it does so for the first time, and from Node 24 on it keeps that memory. The peak
 * of a first backup of 54,000 files on Node 20 is 203 MB if this begins at 24 MiB, and 217 MB if it begins at 64 MiB.
 */
function collectGarbageInTime(growthMax: number): void {
  let limitBytes = USED_BYTES_MIN;
  let bufferLimitBytes = BUFFER_BYTES_GROWTH_MAX;
  const timer = setInterval(() => {
    const { used_heap_size: usedBytes, external_memory: bufferBytes } = getHeapStatistics();
    if (usedBytes >= limitBytes) {
      collectGarbage();
      limitBytes = Math.max(USED_BYTES_MIN, growthMax * getHeapStatistics().used_heap_size);
    } else if (bufferBytes >= bufferLimitBytes) collectGarbage({ type: 'minor' });
    else return;
    bufferLimitBytes = getHeapStatistics().external_memory + BUFFER_BYTES_GROWTH_MAX;
  }, INTERVAL_MS);
  timer.unref();
}

/** Parameters of mallopt(3), and their values. */
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
const TRIM_BYTES = 1024 * 1024;
const MMAP_BYTES = 48 * 1024;

/**
 * Makes the allocator of glibc return memory to the system: by default, the first large buffer that is freed makes it
 * keep all later ones of that size. The peak of a first backup of 54,000 files is 6 MB lower. Loading koffi takes 10 ms,
 * so only commands that need it anyway call this. Has no effect with other allocators.
 */
export function limitMalloc(): void {
  try {
    const mallopt = loadSystemLibrary(null).bind('int mallopt(int parameter, int value)');
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
  } catch {
    // There is no koffi or no mallopt.
  }
}
