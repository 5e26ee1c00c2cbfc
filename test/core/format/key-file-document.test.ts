import { createDecipheriv, createHash } from 'node:crypto';
import { argon2id } from 'hash-wasm';
import { expect, test } from 'vitest';
import { decodeKeyFile, encodeKeyFile } from '../../../src/core/format/key-file.ts';
import { encodeKeyLines } from '../../../src/core/format/key-page.ts';
import { DOCUMENT, exampleOf } from './format-document.ts';

interface KeyMembers extends Record<string, unknown> {
  readonly kdf: { readonly memory_kib: number; readonly passes: number; readonly lanes: number };
  readonly salt: string;
  readonly sealed: string;
}

const TEXT = exampleOf('json key');

test('the example of a key file is what the program writes', () => {
  const { header, sealed } = decodeKeyFile(Buffer.from(TEXT));
  expect(encodeKeyFile(header, sealed).toString()).toBe(TEXT);
  expect(DOCUMENT).toContain(`Its id is \`${createHash('sha256').update(TEXT).digest('hex')}\``);
});

test('the exported lines are what the program writes', () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const { repository_id: repositoryId } = JSON.parse(TEXT) as { repository_id: string };
  const lines = encodeKeyLines([{ epoch: 1, bytes }], repositoryId);
  expect(exampleOf('text')).toBe(`${lines.join('\n')}\n`);
});

test('the exported lines are read by what the document says, without the program', () => {
  const symbols = /\(`([0-9A-Z]{32})`, five bits each/.exec(DOCUMENT)![1]!;
  const bitsOf = (text: string): string =>
    Array.from(text, (symbol) => symbols.indexOf(symbol).toString(2).padStart(5, '0')).join('');
  const parts = exampleOf('text')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [number, ...groups] = line.trim().split(/\s+/);
      const bits = bitsOf(groups.join(''));
      const bytes = Buffer.from(
        bits
          .slice(0, 80)
          .match(/.{8}/g)!
          .map((byte) => Number.parseInt(byte, 2)),
      );
      const digest = createHash('sha256')
        .update(Buffer.of(Number(number)))
        .update(bytes)
        .digest();
      expect(digest.readUIntBE(0, 3) >>> 4).toBe(Number.parseInt(bits.slice(80), 2));
      return bytes.toString('hex');
    });
  const key = Array.from({ length: 32 }, (_, index) => index.toString(16).padStart(2, '0')).join('');
  expect(parts.join('')).toBe(`0100000001${key}0f0f0f`);
});

test('it opens by what the document says, without the program', async () => {
  const { checksum, sealed, ...before } = JSON.parse(TEXT) as KeyMembers;
  expect(checksum).toBe(
    createHash('sha256')
      .update(JSON.stringify({ ...before, sealed }))
      .digest('hex'),
  );
  const wrappingKey = await argon2id({
    password: 'correct horse battery staple',
    salt: Buffer.from(before.salt, 'hex'),
    memorySize: before.kdf.memory_kib,
    iterations: before.kdf.passes,
    parallelism: before.kdf.lanes,
    hashLength: 32,
    outputType: 'binary',
  });
  const bytes = Buffer.from(sealed, 'hex');
  const decipher = createDecipheriv('aes-256-gcm', wrappingKey, bytes.subarray(0, 12));
  decipher.setAAD(Buffer.from(JSON.stringify(before))).setAuthTag(bytes.subarray(-16));
  const masterKey = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
  expect(masterKey).toEqual(Buffer.from(Array.from({ length: 32 }, (_, index) => index)));
});
