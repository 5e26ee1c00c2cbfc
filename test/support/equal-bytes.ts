import { expect } from 'vitest';

const shared = globalThis as { comparesBytes?: boolean };

/**
 * Runs before each test file, and adds the tester once for each process. `toEqual` visits every byte of a buffer twice,
 * which takes a microsecond each time; the tester compares the memory of two typed arrays instead. Like the runner, it
 * distinguishes a Buffer from a Uint8Array. It leaves arrays of floats to the runner, since a NaN has more than one
 * representation.
 */
if (shared.comparesBytes !== true) {
  shared.comparesBytes = true;
  expect.addEqualityTesters([
    (a: unknown, b: unknown): boolean | undefined => {
      if (!isIntegers(a) || !isIntegers(b)) return undefined;
      return a.constructor === b.constructor && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
    },
  ]);
}

type Integers = Uint8Array | Uint16Array | Uint32Array | Int32Array | BigUint64Array;

function isIntegers(value: unknown): value is Integers {
  return (
    value instanceof Uint8Array ||
    value instanceof Uint16Array ||
    value instanceof Uint32Array ||
    value instanceof Int32Array ||
    value instanceof BigUint64Array
  );
}

function bytesOf({ buffer, byteOffset, byteLength }: Integers): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
