import { vi } from 'vitest';

/**
 * Runs before each test file. Commands that a test runs in this process leave its heap alone: their timers outlive them,
 * and each would collect all garbage of the whole process, whose heap is larger than what a command may have.
 */
vi.mock('../../src/console/heap-limits.ts', () => ({ limitHeap: () => undefined, limitMalloc: () => undefined }));
