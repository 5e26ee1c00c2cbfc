import { onTestFinished } from 'vitest';

/** A copy in memory that threads share. */
export function shared(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(new SharedArrayBuffer(bytes.length));
  buffer.set(bytes);
  return buffer;
}

/** Returns the list to which the size of each piece of shared memory is added that this thread makes, until the test ends. */
export function recordSharedMemory(): number[] {
  const made: number[] = [];
  const original = globalThis.SharedArrayBuffer;
  globalThis.SharedArrayBuffer = new Proxy(original, {
    construct(target, given: [number]) {
      made.push(given[0]);
      return new target(...given);
    },
  });
  onTestFinished(() => void (globalThis.SharedArrayBuffer = original));
  return made;
}
