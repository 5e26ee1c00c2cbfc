import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TAR_END, contentBytesOf, encodeTarMember } from '../../../../src/core/format/tar/tar-encoder.ts';
import type { DataRun, TarMember, TarType } from '../../../../src/core/format/tar/tar-member.ts';
import { paddedBytes } from '../../../../src/core/format/tar/tar-member.ts';
import { TarReader } from '../../../../src/core/format/tar/tar-reader.ts';
import { byteStringFromBytes } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { testProperty } from '../../../support/property.ts';
import { encodeSample } from '../../../support/tar-archive.ts';

function bytes(minLength: number, maxLength: number): fc.Arbitrary<ByteString> {
  return fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength, maxLength })
    .map((each) => byteStringFromBytes(Uint8Array.from(each)));
}

/** 0xffff_ffff is -1, which is no owner: in its place a reader takes another one (test/verbs/import-tar/import-tar-odd.test.ts). */
const arbOwner = fc.oneof(fc.nat(0xffff_fffe), fc.constantFrom(0, 2_097_151, 2_097_152, 0xffff_fffe));
const arbOwnerName = fc.oneof(bytes(0, 6), bytes(30, 34));
const arbTime = fc.record(
  {
    seconds: fc.oneof(
      fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
      fc.constantFrom(-1, 0, 8_589_934_591, 8_589_934_592),
    ),
    nanoseconds: fc.oneof(fc.constant(0), fc.nat(999_999_999)),
  },
  { noNullPrototype: true },
);
const arbTypes = fc.constantFrom<TarType>(
  'file',
  'hardlink',
  'symlink',
  'character-device',
  'block-device',
  'directory',
  'fifo',
);

const arbRuns = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 3000 })), { maxLength: 60 })
  .map((pairs) => {
    let end = 0;
    return pairs.map(([hole, lengthBytes]): DataRun => {
      const offset = end + hole;
      end = offset + lengthBytes;
      return { offset, lengthBytes };
    });
  });

const arbAttributes = fc
  .uniqueArray(
    fc.record(
      { name: bytes(1, 20), value: fc.array(fc.nat(255), { maxLength: 1200 }).map((each) => Buffer.from(each)) },
      { noNullPrototype: true },
    ),
    { maxLength: 3, selector: ({ name }) => name },
  )
  .map((attributes) => attributes.sort((a, b) => (a.name < b.name ? -1 : 1)));

const arbMember: fc.Arbitrary<TarMember> = fc
  .record({
    type: arbTypes,
    path: fc.oneof(bytes(1, 99), bytes(98, 300)),
    link: fc.oneof(bytes(1, 99), bytes(98, 300)),
    size: fc.nat(5000),
    runs: fc.option(arbRuns, { nil: undefined }),
    tail: fc.nat(2000),
  })
  .chain(({ type, path, link, size, runs, tail }) => {
    const last = runs?.at(-1);
    const isFile = type === 'file';
    const isDevice = type.endsWith('device');
    const name = isFile ? path.replace(/\/+$/, 'x') : path;
    return fc.record(
      {
        path: fc.constant(name as ByteString),
        type: fc.constant(type),
        mode: fc.nat(0o7777),
        uid: arbOwner,
        gid: arbOwner,
        user: arbOwnerName,
        group: arbOwnerName,
        mtime: arbTime,
        ctime: fc.constant(undefined),
        linkTarget: fc.constant((type === 'symlink' || type === 'hardlink' ? link : '') as ByteString),
        deviceMajor: isDevice ? fc.nat(0xfff) : fc.constant(0),
        deviceMinor: isDevice ? fc.nat(0xfffff) : fc.constant(0),
        sizeBytes: fc.constant(
          !isFile ? 0 : runs === undefined ? size : (last?.offset ?? 0) + (last?.lengthBytes ?? 0) + tail,
        ),
        dataRuns: fc.constant(isFile ? runs : undefined),
        attributes: arbAttributes,
        accessAcl: fc.constantFrom(
          '',
          'user::rwx,user:5:r--,group::r--,mask::rwx,other::---',
        ) as fc.Arbitrary<ByteString>,
        defaultAcl: fc.constantFrom('', 'user::rwx,group::r--,other::---') as fc.Arbitrary<ByteString>,
      },
      { noNullPrototype: true },
    );
  });

/** Different bytes at each position of a file; 0 in holes. */
function contentOf({ sizeBytes, dataRuns }: TarMember): Buffer {
  const content = Buffer.alloc(sizeBytes);
  for (const { offset, lengthBytes } of dataRuns ?? [{ offset: 0, lengthBytes: sizeBytes }]) {
    for (let i = offset; i < offset + lengthBytes; i++) content[i] = 1 + (i % 251);
  }
  return content;
}

function archiveOf(members: readonly TarMember[]): Buffer {
  const parts = members.flatMap((member) => {
    const content = contentOf(member);
    const runs = member.dataRuns ?? [{ offset: 0, lengthBytes: member.sizeBytes }];
    const stored = runs.map(({ offset, lengthBytes }) => content.subarray(offset, offset + lengthBytes));
    const sizeBytes = contentBytesOf(member);
    return [encodeTarMember(member), ...stored, Buffer.alloc(paddedBytes(sizeBytes) - sizeBytes)];
  });
  return Buffer.concat([...parts, TAR_END]);
}

async function readAll(archive: Buffer, pieceBytes: number): Promise<(readonly [TarMember, Buffer])[]> {
  const pieces = Array.from({ length: Math.ceil(archive.length / pieceBytes) }, (_, i) =>
    archive.subarray(i * pieceBytes, (i + 1) * pieceBytes),
  );
  const reader = new TarReader(pieces);
  const found: (readonly [TarMember, Buffer])[] = [];
  for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
    const content = Buffer.alloc(member.sizeBytes + 1);
    let end = 0;
    for (let count = -1; count !== 0; end += count) count = await reader.content.read(content.subarray(end, end + 700));
    found.push([member, content.subarray(0, end)]);
  }
  return found;
}

// Shrinking a large archive can take minutes.
const UNSHRUNK = { endOnFailure: true };

describe('a tar archive', () => {
  testProperty('gives back every member that was encoded', async (check) => {
    await check(
      fc.asyncProperty(
        fc.array(arbMember, { maxLength: 4 }),
        fc.integer({ min: 1, max: 2000 }),
        async (members, pieceBytes) => {
          const found = await readAll(archiveOf(members), pieceBytes);
          expect(found).toEqual(members.map((member) => [member, contentOf(member)]));
        },
      ),
      { numRuns: 60, ...UNSHRUNK },
    );
  });

  testProperty('gives back a sparse file whose name in the header is cut behind a slash', async (check) => {
    const sparse = arbMember.filter(({ type, dataRuns }) => type === 'file' && dataRuns !== undefined);
    await check(
      fc.asyncProperty(sparse, async (template) => {
        const member = { ...template, path: `${'x'.repeat(83)}/y` as ByteString };
        expect(await readAll(archiveOf([member]), 512)).toEqual([[member, contentOf(member)]]);
      }),
      { numRuns: 5, ...UNSHRUNK },
    );
  });

  testProperty('is refused at whatever byte it is cut off', async (check) => {
    const arbFile = arbMember.filter(({ type }) => type === 'file');
    await check(
      fc.asyncProperty(
        fc.array(arbFile, { minLength: 1, maxLength: 2 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (members, part) => {
          const archive = archiveOf(members);
          // Without the second block of its end it is still whole.
          const cut = archive.subarray(0, Math.floor(part * (archive.length - TAR_END.length)));
          await expect(readAll(cut, 512)).rejects.toMatchObject({ code: 'ARCHIVE' });
        },
      ),
      { numRuns: 100, ...UNSHRUNK },
    );
  });

  testProperty('with wrong bytes ends with an error that is expected, or with members', async (check) => {
    await check(
      fc.asyncProperty(
        fc.array(arbMember, { minLength: 1, maxLength: 3 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 }),
        async (members, changes) => {
          const archive = archiveOf(members);
          for (const [offset, byte] of changes) archive[offset % archive.length] = byte;
          const outcome = await readAll(archive, 4096).then(
            () => 'ARCHIVE',
            (error: unknown) => (error as { code: string }).code,
          );
          expect(outcome).toBe('ARCHIVE');
        },
      ),
      { numRuns: 100, ...UNSHRUNK },
    );
  });

  it.each([
    ['gzip', Buffer.from('1f8b0800', 'hex')],
    ['zstd', Buffer.from('28b52ffd', 'hex')],
    ['xz', Buffer.from('fd377a585a00', 'hex')],
    ['lz4', Buffer.from('02214c18', 'hex')],
    ['lzop', Buffer.from('894c5a4f', 'hex')],
    ['lrzip', Buffer.from('LRZI')],
    ['compress', Buffer.from('1f9d90', 'hex'), 'gzip'],
    ['lzma', Buffer.from('5d0000', 'hex'), 'xz'],
  ])('that is compressed with %s is recognized', async (program, magic, reader = program) => {
    const archive = Buffer.concat([magic, Buffer.alloc(600, 1)]);
    await expect(readAll(archive, 100)).rejects.toMatchObject({
      message: `the archive is compressed with ${program}`,
      hint: expect.stringContaining(`\`${reader} -dc <archive> | ...\``),
    });
  });

  it('with anything after its end is refused', async () => {
    const archive = Buffer.concat([TAR_END, Buffer.from('more')]);
    await expect(readAll(archive, 512)).rejects.toThrow('other data follows the end of the archive');
  });

  testProperty('has sizes above 8 GiB', async (check) => {
    const whole = arbMember.filter(({ type, dataRuns }) => type === 'file' && dataRuns === undefined);
    await check(
      fc.asyncProperty(whole, async (member) => {
        const large = { ...member, sizeBytes: 2 ** 33 + 5 };
        expect(await new TarReader([encodeTarMember(large)]).next()).toEqual(large);
        const sparse = { ...large, dataRuns: [{ offset: 2 ** 43, lengthBytes: 2 ** 34 }], sizeBytes: 2 ** 44 };
        expect(await new TarReader([encodeTarMember(sparse)]).next()).toEqual(sparse);
      }),
      { numRuns: 5, ...UNSHRUNK },
    );
  });

  it('that ends between two members is incomplete', async () => {
    const archive = Buffer.concat([encodeSample({ path: 'a', content: 'a' }), encodeSample({ path: 'b' })]);
    await expect(readAll(archive, 512)).rejects.toThrow(`it has no end after ${archive.length} bytes`);
  });
});
