import { lstatSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { getSystemErrorName } from 'node:util';

import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { openDirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import { createNamelessFile } from '../../../../src/core/files/target/nameless-file.ts';
import { nativeCalls } from '../../../../src/core/files/native/native.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { testProperty } from '../../../support/property.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { sampleEntry } from '../sample-entry.ts';

const policy = createTargetPolicy();
const content = Buffer.from('content');
const calls = nativeCalls()!.file!;

let directory: string;
let held: DirectoryPath;

beforeEach(() => {
  directory = temporaryDirectory();
  held = openDirectoryPath(byteStringFromText(directory), { side: 'target', hold: 'always' });
  return () => held.close();
});

function create(name = 'name', bytes: Uint8Array = content): boolean | undefined {
  return createNamelessFile(held.childPath(byteStringFromText(name)), bytes, sampleEntry({ mode: 0o1640 }), policy);
}

const nameBytes = fc
  .uint8Array({ minLength: 1, maxLength: 255, min: 1 })
  .filter((name) => !name.includes(0x2f) && !['.', '..'].includes(Buffer.from(name).toString('latin1')));

testProperty('creates a file with any name, content, mode and time', (check) => {
  const file = {
    name: nameBytes,
    bytes: fc.uint8Array({ maxLength: 300_000 }),
    // Otherwise only root could read it again.
    mode: fc.integer({ min: 0, max: 0o1777 }).map((mode) => mode | 0o400),
    // At the first second of its range, ext4 drops the nanoseconds.
    mtimeSeconds: fc.integer({ min: 1 - 2 ** 31, max: 2 ** 31 }),
    mtimeNanoseconds: fc.integer({ min: 0, max: 999_999_999 }),
  };
  check(
    fc.property(fc.record(file), ({ name, bytes, ...metadata }) => {
      const inner = openDirectoryPath(byteStringFromText(temporaryDirectory()), { side: 'target', hold: 'always' });
      const path = inner.childPath(byteStringFromBytes(name));
      expect(createNamelessFile(path, bytes, sampleEntry(metadata), policy)).toBe(true);
      expect(readdirSync(inner.prefix, { encoding: 'buffer' }).map((found) => [...found])).toEqual([[...name]]);
      const place = Buffer.from(path, 'latin1');
      const { mode, mtimeNs } = lstatSync(place, { bigint: true });
      expect(Number(mode & 0o7777n)).toBe(metadata.mode);
      expect(mtimeNs).toBe(BigInt(metadata.mtimeSeconds) * 1_000_000_000n + BigInt(metadata.mtimeNanoseconds));
      expect(readFileSync(place).equals(bytes)).toBe(true);
      inner.close();
    }),
  );
});

it('leaves what already has the name', () => {
  writeFileSync(join(directory, 'name'), 'theirs');
  expect(create()).toBe(false);
  expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('theirs');
  expect(readdirSync(directory)).toEqual(['name']);
});

it('has no name until content and metadata are complete', () => {
  const giveName = vi.spyOn(calls, 'giveName').mockImplementation((descriptor) => {
    const path = `/proc/self/fd/${descriptor}`;
    expect(readFileSync(path)).toEqual(content);
    expect(readdirSync(directory)).toEqual([]);
    throw Object.assign(new Error('killed'), { code: 'EIO' });
  });
  expect(create()).toBe(false);
  expect(giveName).toHaveBeenCalledOnce();
  expect(readdirSync(directory)).toEqual([]);
});

describe('leaves nothing if', () => {
  it.each(['write', 'fchmod', 'close'] as const)('%s fails', (name) => {
    const failing = vi.spyOn(calls, name).mockImplementation(() => {
      throw Object.assign(new Error('no'), { code: 'EIO' });
    });
    expect(create()).toBe(false);
    expect(failing).toHaveBeenCalledOnce();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('only a part is written', () => {
    const write = calls.write.bind(calls);
    const partial = vi
      .spyOn(calls, 'write')
      .mockImplementation((descriptor, bytes) => write(descriptor, bytes.subarray(1)));
    expect(create()).toBe(false);
    expect(partial).toHaveBeenCalledOnce();
    expect(readdirSync(directory)).toEqual([]);
  });
});

it('is only for files directly below a directory that is held open', () => {
  const path = join(directory, 'name');
  expect(createNamelessFile(byteStringFromText(path), content, sampleEntry(), policy)).toBeUndefined();
  expect(create('sub/name')).toBeUndefined();
  expect(readdirSync(directory)).toEqual([]);
});

const { EOPNOTSUPP, EISDIR } = constants.errno;
it.each([EOPNOTSUPP, EISDIR])('is not tried again after error %i: the file system has no such files', async (errno) => {
  vi.resetModules();
  const { createNamelessFile: createFresh } = await import('../../../../src/core/files/target/nameless-file.ts');
  const native = await import('../../../../src/core/files/native/native.ts');
  const failing = vi.spyOn(native.nativeCalls()!.file!, 'createNameless').mockImplementation(() => {
    throw Object.assign(new Error('not supported'), { code: getSystemErrorName(-errno) });
  });
  for (const name of ['one', 'two']) {
    const path = held.childPath(byteStringFromText(name));
    expect(createFresh(path, content, sampleEntry(), policy)).toBeUndefined();
  }
  expect(failing).toHaveBeenCalledOnce();
});
