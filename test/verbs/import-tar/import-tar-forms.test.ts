import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { commonParent } from '../../../src/core/files/paths/root-paths.ts';
import { TarReader } from '../../../src/core/format/tar/tar-reader.ts';
import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import type { ImportTarOptions } from '../../../src/verbs/import-tar/import-tar.ts';
import { openZstd } from '../../../src/core/workers/zstd.ts';
import { contents, entryAt, importMembers } from '../../support/imported-archive.ts';
import { createPrng } from '../../support/prng.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../../support/tar-archive.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function importBytes(
  { context }: TestRepository,
  bytes: readonly Uint8Array[],
  options: Partial<ImportTarOptions> = {},
): Promise<string[]> {
  const { problems } = await importTar(context, { archive: bytes, ...options });
  return problems.map(({ message }) => message);
}

const file = (path: string, content: string): Buffer => oddMember({ path, content }, {});
const end = sampleArchive([]);

/** A hard link with a size, and the data of that size or none. */
function link(path: string, target: string, { magic = 'ustar\x0000', content = '' }): Buffer {
  const size = (content === '' ? 3 : content.length).toString(8).padStart(11, '0');
  const header = oddMember({ path, type: 'hardlink', linkTarget: bs(target) }, { magic, size });
  return Buffer.concat([header, Buffer.from(content, 'latin1'), Buffer.alloc(-content.length & 511)]);
}

describe('a hard link with a size', () => {
  it.each([
    ['has the content again', [link('b', 'a', { content: 'one' })]],
    ['has none before another header', [link('b', 'a', {})]],
    ['has none in an archive of GNU tar', [link('b', 'a', { magic: 'ustar  ' })]],
    [
      'has the content in an archive of pax, even if it is an archive',
      [extendedHeader([['comment', bs('pax')]]), link('b', 'a', { content: file('inner', 'x').toString('latin1') })],
    ],
  ])('%s', async (_, links) => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [file('a', 'one'), ...links, file('c', 'see'), end])).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'one', b: 'one', c: 'see' });
    expect((await entryAt(repository, 'b')).hardlink).toMatchObject({ linkCount: 2 });
  });

  it('at the end of the archive has none', async () => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [file('a', 'one'), link('b', 'a', {}), end])).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'one', b: 'one' });
  });

  it('is a file of its own if its target is missing, and else another name, also of a later target', async () => {
    const repository = await makeTestRepository();
    const members = [link('x', 'gone', { content: 'xyz' }), link('b', 'a', { content: 'one' }), file('a', 'one')];
    expect(await importBytes(repository, [...members, end])).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'one', b: 'one', x: 'xyz' });
    expect((await entryAt(repository, 'b')).hardlink).toMatchObject({ linkCount: 2 });
    expect((await entryAt(repository, 'x')).hardlink).toBeUndefined();
    await repository.expectClean();
  });
});

describe('a hard link', () => {
  it('to a directory is left out, with the right reason', async () => {
    const repository = await makeTestRepository();
    const { problems } = await importMembers(repository, [
      { path: 'early', type: 'hardlink', linkTarget: bs('d') },
      { path: 'd/', type: 'directory' },
      { path: 'late', type: 'hardlink', linkTarget: bs('d/') },
      { path: 'empty', type: 'hardlink' },
    ]);
    const reason = 'and no directory has several names';
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot import empty: it is a hard link without a target',
      `cannot import early: it is a hard link to the directory d, ${reason}`,
      `cannot import late: it is a hard link to the directory d/, ${reason}`,
    ]);
  });
});

describe('the end of an archive', () => {
  const a = file('a', 'first');
  const b = file('b', 'second');

  it('may be missing, cut off, or followed by other data, on request only', async () => {
    for (const [bytes, problem, code] of [
      [[a, b], 'has no end', 'import-any-end'],
      [[a, b.subarray(0, 700)], 'in the middle of an entry', undefined],
      [[a, b, end, Buffer.from('garbage')], 'other data follows', 'import-any-end'],
      [[a, b, Buffer.alloc(100)], 'in the middle of an entry', undefined],
    ] as const) {
      const repository = await makeTestRepository();
      const refused = importBytes(repository, bytes);
      await expect(refused).rejects.toThrow(problem);
      if (code !== undefined) await expect(refused).rejects.toMatchObject({ advice: { code } });
      expect(await importBytes(repository, bytes, { acceptsAnyEnd: true })).toEqual([]);
      expect(await contents(repository)).toEqual({ a: 'first', b: 'second' });
    }
  });

  it('is never in the middle of a member', async () => {
    const repository = await makeTestRepository();
    for (const bytes of [
      [a, b.subarray(0, 514)],
      [a, extendedHeader([['path', bs('x')]])],
    ]) {
      const refused = importBytes(repository, bytes, { acceptsAnyEnd: true });
      await expect(refused).rejects.toThrow('in the middle of an entry');
    }
  });

  it('may be followed by more archives, on request only', async () => {
    const repository = await makeTestRepository();
    const bytes = [extendedHeader([['uid', bs('70')]], 'g'), a, end, b, end, end, file('c', 'third'), end];
    const refused = importBytes(repository, bytes);
    await expect(refused).rejects.toMatchObject({ advice: { code: 'import-all-archives' } });
    expect(await importBytes(repository, bytes, { ignoresZeros: true })).toEqual([]);
    expect(await contents(repository)).toEqual({ a: 'first', b: 'second', c: 'third' });
    expect([(await entryAt(repository, 'a')).uid, (await entryAt(repository, 'b')).uid]).toEqual([70, 7]);
  });
});

describe('an archive that is compressed', () => {
  const content = createPrng(5).bytes(3_000_000).toString('latin1');
  const plain = sampleArchive([{ path: 'a', content }]);
  const half = plain.length >> 1;
  const zstd = (bytes: Uint8Array): Buffer => Buffer.from(openZstd().compress(bytes, 3));
  const skippable = Buffer.from('502a4d180300000061626300'.slice(0, 22), 'hex');
  const parts = [plain.subarray(0, half), plain.subarray(half)];

  it.each([
    ['gzip', gzipSync(plain)],
    ['gzip in several members', Buffer.concat(parts.map((part) => gzipSync(part)))],
    ['zstd', zstd(plain)],
    ['zstd in several frames', Buffer.concat([skippable, ...parts.map(zstd), skippable])],
  ])('with %s is read as it is, if it is whole', async (_, bytes) => {
    const repository = await makeTestRepository();
    const pieces = [bytes.subarray(0, 3), bytes.subarray(3, 1_000_000), bytes.subarray(1_000_000)];
    expect(await importBytes(repository, pieces)).toEqual([]);
    expect((await contents(repository))['a'] === content).toBe(true);
    for (const cut of [bytes.length - 1, bytes.length >> 1, 600]) {
      const incomplete = importBytes(repository, [bytes.subarray(0, cut)], { acceptsAnyEnd: true });
      await expect(incomplete).rejects.toThrow('the archive is incomplete: its compressed data ends early');
    }
    const damaged = Buffer.from(bytes).fill(0xff, bytes.length >> 1);
    await expect(importBytes(repository, [damaged])).rejects.toThrow('the archive cannot be decompressed');
  });

  it('is not taken for one because of the name of its first entry', async () => {
    const repository = await makeTestRepository();
    expect(await importBytes(repository, [file('\x1f\x8bx', 'y'), end])).toEqual([]);
  });

  it('can be interrupted while a few bytes become gigabytes', async () => {
    const repository = await makeTestRepository();
    const abort = new AbortController();
    const block = Buffer.from([2 + ((0x20000 << 3) & 0xf8), 0, 0x10, 0]);
    const zeros = Buffer.concat([Buffer.from('28b52ffd0038', 'hex'), ...Array.from({ length: 60_000 }, () => block)]);
    const header = oddMember({ path: 'big' }, { type: 'Q', size: '77777777777' });
    let pieces = 0;
    const archive = (async function* () {
      yield zstd(header);
      for (;;) {
        if ((pieces += 1) === 2) throw new Error('it was not interrupted');
        setImmediate(() => abort.abort());
        yield zeros;
      }
    })();
    await expect(importTar({ ...repository.context, signal: abort.signal }, { archive })).rejects.toThrow('cancelled');
  });
});

describe('the holes of an archive', () => {
  it('give the same chunks as zeros', async () => {
    const random = createPrng(9);
    for (const holeBytes of [1000, 20_000, 100_000, 300_001]) {
      const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
      const [before, after] = [random.bytes(3000).toString('latin1'), random.bytes(5000).toString('latin1')];
      const sizeBytes = 8000 + 2 * holeBytes;
      const dataRuns = [
        { offset: 0, lengthBytes: 3000 },
        { offset: 3000 + holeBytes, lengthBytes: 5000 },
      ];
      const zeros = '\0'.repeat(holeBytes);
      await importMembers(repository, [
        { path: 'plain', content: before + zeros + after + zeros },
        { path: 'sparse', content: before + after, sizeBytes, dataRuns },
      ]);
      const sparse = await entryAt(repository, 'sparse');
      expect(Buffer.from(sparse.chunkIds)).toEqual(Buffer.from((await entryAt(repository, 'plain')).chunkIds));
      expect(sparse.sizeBytes).toBe(sizeBytes);
      await repository.expectClean();
    }
  });

  it('of terabytes are hashed once, and those of a pebibyte are refused', async () => {
    const repository = await makeTestRepository();
    const before = process.cpuUsage();
    const { problems } = await importMembers(repository, [
      { path: 'large', sizeBytes: 2 ** 40, dataRuns: [] },
      { path: 'huge', sizeBytes: 2 ** 50, dataRuns: [] },
      { path: 'last', content: 'z' },
    ]);
    expect(problems.map(({ message }) => message)).toEqual(['cannot import huge: its holes are too large (1.0 PiB)']);
    const { chunkIds, sizeBytes } = await entryAt(repository, 'large');
    expect([sizeBytes, chunkIds.length / 20 >= 2 ** 40 / (4 * 1024 * 1024)]).toEqual([2 ** 40, true]);
    // Hashing a tebibyte takes several minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });
});

describe('a deep path', () => {
  it('takes a time that grows with its length only', async () => {
    const repository = await makeTestRepository();
    const [deep, deeper] = ['d/'.repeat(200_000), 'e/'.repeat(200_000)];
    const before = process.cpuUsage();
    const { problems, snapshot } = await importMembers(repository, [
      { path: `${deep}a`, content: 'x' },
      { path: `${deep}b`, type: 'hardlink', linkTarget: bs(`${deep}a`) },
    ]);
    expect(problems).toEqual([]);
    expect(snapshot.base).toBe(`/${deep.slice(0, -1)}`);
    expect(commonParent([bs(`/${deep}${deeper}a`), bs(`/${deep}${deep}a`)])).toBe(`/${deep.slice(0, -1)}`);
    expect(process.cpuUsage(before).user).toBeLessThan(15_000_000);
  });

  it('has a limit', async () => {
    const { problems } = await importMembers(await makeTestRepository(), [
      { path: 'a' },
      { path: 'd/'.repeat(600_000) },
    ]);
    const shown = `${'d/'.repeat(30)}...`;
    expect(problems).toEqual([
      { path: shown, during: 'import', message: `cannot import ${shown}: its name has 1200000 bytes` },
    ]);
  });
});

it('a member without content has one that is empty', async () => {
  const reader = new TarReader([sampleArchive([{ path: 'd/', type: 'directory' }])]);
  await reader.next();
  expect(await reader.content.read(Buffer.alloc(9))).toBe(0);
});
