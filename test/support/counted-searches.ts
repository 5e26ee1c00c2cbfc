import { onTestFinished, vi } from 'vitest';

/** Counts the calls of a method of all strings until the test ends. */
export function countStringCalls(method: 'startsWith'): { count: number } {
  const calls = { count: 0 };
  const real = String.prototype[method];
  const spy = vi.spyOn(String.prototype, method).mockImplementation(function (this: string, ...given) {
    calls.count += 1;
    return real.apply(this, given);
  });
  onTestFinished(() => spy.mockRestore());
  return calls;
}

const ID = /^[0-9a-f]{64}$/;

/** Counts how often an id is looked for in a list of at least this many elements, until the test ends. */
export function countSearchesForIds(lengthMin: number): { count: number } {
  const searches = { count: 0 };
  const real = Array.prototype.includes as (this: unknown[], value: unknown, from?: number) => boolean;
  const spy = vi.spyOn(Array.prototype, 'includes').mockImplementation(function (this: unknown[], value, from) {
    if (this.length >= lengthMin && typeof value === 'string' && ID.test(value)) searches.count += 1;
    return real.call(this, value, from);
  });
  onTestFinished(() => spy.mockRestore());
  return searches;
}
