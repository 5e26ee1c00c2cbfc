import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createMasterKey, keepMasterKey } from '../../../src/core/crypto/master-key.ts';
import { KeyRing } from '../../../src/core/crypto/seals.ts';
import { openStream, sealStream } from '../../../src/core/crypto/stream-seal.ts';
import type { StreamSource } from '../../../src/core/crypto/stream-seal.ts';
import { CorruptDataError } from '../../../src/core/errors.ts';

const MIB = 1024 * 1024;
const HEADER = 48;
const PIECE = MIB + 16;
const REPOSITORY_ID = 'ab'.repeat(32);

function makeKeys(repositoryId = REPOSITORY_ID, epoch = 1): KeyRing {
  return new KeyRing(repositoryId, [keepMasterKey(createMasterKey(epoch))]);
}

const KEYS = makeKeys();

async function seal(plain: Uint8Array, stepBytes: number): Promise<Buffer> {
  const written: Uint8Array[] = [];
  await sealStream(
    KEYS,
    async (bytes) => void written.push(Buffer.from(bytes)),
    async (append) => {
      for (let offset = 0; offset < plain.length; offset += stepBytes)
        await append(plain.subarray(offset, offset + stepBytes));
    },
  );
  return Buffer.concat(written);
}

function sourceOf(bytes: Buffer): StreamSource {
  const readRange = async (offset: number, target: Uint8Array): Promise<void> => {
    if (offset + target.length > bytes.length) throw new Error('read past the end');
    target.set(bytes.subarray(offset, offset + target.length));
  };
  return { sizeBytes: bytes.length, readRange };
}

async function open(sealed: Buffer, keys = KEYS): Promise<Buffer> {
  const source = await openStream(sourceOf(sealed), keys);
  const plain = Buffer.alloc(source.sizeBytes);
  await source.readRange(0, plain);
  return plain;
}

describe('an encrypted stream', () => {
  test.each([1, 1000, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 17])(
    'of %i bytes reads back as it was written, in any steps',
    async (sizeBytes) => {
      const plain = randomBytes(sizeBytes);
      for (const stepBytes of [sizeBytes, 100_001]) {
        const sealed = await seal(plain, stepBytes);
        expect(sealed.length).toBe(HEADER + sizeBytes + 16 * Math.ceil(sizeBytes / MIB));
        expect((await open(sealed)).equals(plain)).toBe(true);
        expect(sealed.includes(plain.subarray(0, 16)) && sizeBytes > 16).toBe(false);
      }
    },
  );

  test('is read from any place', async () => {
    const plain = randomBytes(2 * MIB + 5);
    const source = await openStream(sourceOf(await seal(plain, MIB)), KEYS);
    for (const [offset, length] of [
      [2 * MIB, 5],
      [MIB - 3, 6],
      [0, 1],
    ] as const) {
      const part = Buffer.alloc(length);
      await source.readRange(offset, part);
      expect(part.equals(plain.subarray(offset, offset + length))).toBe(true);
    }
  });

  test('is refused if a bit of it is flipped: in the header, a piece or a tag', async () => {
    const sealed = await seal(randomBytes(MIB + 50), MIB);
    const places = [
      ...Array.from({ length: HEADER }, (_, index) => index),
      HEADER + 5,
      HEADER + MIB + 3,
      sealed.length - 1,
      sealed.length - 30,
    ];
    for (const place of places) {
      const flipped = Buffer.from(sealed);
      flipped[place]! ^= 0x10;
      await expect(open(flipped), `byte ${place}`).rejects.toThrow(CorruptDataError);
    }
  });

  test('is refused if pieces are left out, moved or cut off', async () => {
    const sealed = await seal(randomBytes(3 * MIB), MIB);
    const [header, ...pieces] = [
      sealed.subarray(0, HEADER),
      ...[0, 1, 2].map((index) => sealed.subarray(HEADER + index * PIECE, HEADER + (index + 1) * PIECE)),
    ];
    const [first, second, third] = pieces as [Buffer, Buffer, Buffer];
    const changed = [
      [header, first, second],
      [header, first, third],
      [header, second, first, third],
      [header, first, second, third, third],
      [header, first, second, third.subarray(0, 500)],
      [header, first, second, third.subarray(0, 16)],
    ];
    for (const parts of changed) await expect(open(Buffer.concat(parts))).rejects.toThrow(CorruptDataError);
  });

  test('is refused with other keys, in other repositories, and if it is not encrypted', async () => {
    const sealed = await seal(randomBytes(100), 100);
    await expect(open(sealed, makeKeys())).rejects.toThrow(CorruptDataError);
    await expect(open(sealed, makeKeys('cd'.repeat(32)))).rejects.toThrow(CorruptDataError);
    await expect(open(sealed, makeKeys(REPOSITORY_ID, 2))).rejects.toThrow('there is no key of epoch 1');
    await expect(open(randomBytes(500))).rejects.toThrow('it is not encrypted');
    await expect(open(randomBytes(10))).rejects.toThrow(CorruptDataError);
  });
});
