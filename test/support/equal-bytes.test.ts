import { expect, test } from 'vitest';

const arrays = [Uint8Array, Uint16Array, Uint32Array, Int32Array, BigUint64Array] as const;

test.each(arrays)('%o is equal to one with the same numbers only', (Numbers) => {
  const make = (last: number): InstanceType<typeof Numbers> => {
    const made = new Numbers(3);
    made.set((made instanceof BigUint64Array ? [1n, 2n, BigInt(last)] : [1, 2, last]) as never);
    return made;
  };
  expect(make(3)).toEqual(make(3));
  expect(make(3)).not.toEqual(make(4));
  expect(make(3)).not.toEqual(make(3).subarray(1));
  expect([{ deep: new Map([['a', make(3)]]) }]).toEqual([{ deep: new Map([['a', make(3)]]) }]);
  expect([{ deep: new Map([['a', make(3)]]) }]).not.toEqual([{ deep: new Map([['a', make(5)]]) }]);
  expect({ a: make(3), b: 1 }).toMatchObject({ a: make(3) });
  expect({ a: make(3), b: 1 }).not.toMatchObject({ a: make(2) });
  expect(make(3)).toStrictEqual(make(3));
});

test('a Buffer is no Uint8Array, and where it begins in its memory makes no difference', () => {
  expect(Buffer.of(1, 2)).not.toEqual(Uint8Array.of(1, 2));
  expect(Buffer.of(1, 2)).not.toEqual([1, 2]);
  expect(Buffer.of(0, 1, 2).subarray(1)).toEqual(Buffer.of(1, 2));
  expect(Buffer.of(1, 2)).toEqual(expect.any(Buffer));
  expect(Uint16Array.of(1)).not.toEqual(Uint8Array.of(1, 0));
});

test('bytes are compared as memory', () => {
  const [one, other] = [Buffer.alloc(2 ** 20), Buffer.alloc(2 ** 20)];
  const before = process.cpuUsage();
  expect(one).toEqual(other);
  // It takes seconds if each is visited.
  expect(process.cpuUsage(before).user).toBeLessThan(1e6);
});
