import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { CancelledError, SnapshotNotFoundError } from '../../../src/core/errors.ts';
import { packName } from '../../../src/core/format/layout.ts';
import { TarReader } from '../../../src/core/format/tar/tar-reader.ts';
import { openRepositoryForReading } from '../../../src/core/snapshots/open-snapshot.ts';
import { dump, dumpOpened } from '../../../src/verbs/dump/dump.ts';
import type { ArchiveFormat } from '../../../src/verbs/dump/dump.ts';
import { bareDirectory } from '../../../src/core/format/tree/tree-entry.ts';
import { FirstNames } from '../../../src/verbs/dump/first-names.ts';
import { createPrng } from '../../support/prng.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { bs } from '../../support/tar-archive.ts';

const MIB = 1024 * 1024;

/** The pieces as they are given, not copied. */
async function piecesOf({ context }: TestRepository, format: ArchiveFormat): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const write = (bytes: Uint8Array): undefined => void pieces.push(bytes);
  await dump(context, { selector: 'latest:source', format, write });
  return pieces;
}

/** The files in a tar archive, by name. */
async function filesIn(archive: readonly Uint8Array[]): Promise<Map<string, Buffer>> {
  const reader = new TarReader(archive.map((piece) => Buffer.from(piece)));
  const files = new Map<string, Buffer>();
  for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
    const content = Buffer.alloc(member.sizeBytes);
    let end = 0;
    for (let count = -1; count !== 0; end += count) count = await reader.content.read(content.subarray(end));
    expect(end).toBe(member.sizeBytes);
    files.set(member.path, content);
  }
  return files;
}

/** Makes all data unreadable. */
function spoilData(repository: TestRepository): void {
  for (const id of filesOf(repository, 'packs')) {
    const path = join(repository.directory, 'repository', packName(id));
    const bytes = readFileSync(path);
    if (bytes.length < MIB) continue;
    chmodSync(path, 0o600);
    writeFileSync(path, bytes.fill(0, 1000, bytes.length - 1000));
  }
}

describe('an opened snapshot', () => {
  it('is dumped as often as wanted, like one that is opened for it, and cancelled alone', async () => {
    const repository = await makeTestRepository();
    mkdirSync(join(repository.source, 'in'));
    writeFileSync(join(repository.source, 'in', 'file'), 'content');
    await repository.backup();
    const reader = await openRepositoryForReading(repository.context);
    const snapshot = reader.open(reader.select('latest'));
    const dumped = async (path: string, format?: ArchiveFormat, signal?: AbortSignal): Promise<Buffer> => {
      const pieces: Uint8Array[] = [];
      const write = (bytes: Uint8Array): undefined => void pieces.push(bytes);
      const options = { snapshot, path: Buffer.from(path), write, ...(format === undefined ? {} : { format }) };
      await dumpOpened(signal === undefined ? {} : { signal }, options);
      return Buffer.concat(pieces);
    };
    for (const format of ['tar', 'zip'] as const)
      expect(await dumped('source', format)).toEqual(Buffer.concat(await piecesOf(repository, format)));
    expect((await dumped('source/in/file')).toString()).toBe('content');
    await expect(dumped('source/none')).rejects.toThrow(SnapshotNotFoundError);
    await expect(dumped('source', 'tar', AbortSignal.abort())).rejects.toThrow(CancelledError);
    expect((await dumped('source/in/file')).toString()).toBe('content');
    await reader.close();
  });
});

describe('an archive', () => {
  it('has small and large files as they are, in whatever pieces they are written, and also if these are taken later', async () => {
    const repository = await makeTestRepository();
    const expected = new Map<string, Buffer>();
    for (const [index, sizeBytes] of [100_000, 600_000, 0, 200_000, 100_000, MIB, 7].entries()) {
      const bytes = Buffer.from(createPrng(index).bytes(sizeBytes));
      expected.set(`file-${index}`, bytes);
      writeFileSync(join(repository.source, `file-${index}`), bytes);
    }
    await repository.backup();
    expect(await filesIn(await piecesOf(repository, 'tar'))).toEqual(expected);
  });

  it('has everything around the holes of a file', async () => {
    const repository = await makeTestRepository();
    const descriptor = openSync(join(repository.source, 'sparse'), 'w');
    ftruncateSync(descriptor, 4 * MIB);
    for (const at of [MIB, 4 * MIB - 3]) writeSync(descriptor, 'end', at);
    closeSync(descriptor);
    await repository.backup();
    const pieces = await piecesOf(repository, 'tar');
    expect(Buffer.concat(pieces).length).toBeLessThan(MIB);
    const content = (await filesIn(pieces)).get('sparse')!;
    expect(content.equals(readFileSync(join(repository.source, 'sparse')))).toBe(true);
  });

  it.each(['tar', 'zip'] as const)('ends with an error where data is damaged (%s)', async (format) => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'large'), createPrng(1).bytes(3 * MIB));
    await repository.backup();
    spoilData(repository);
    await expect(piecesOf(repository, format)).rejects.toThrow('cannot read large');
  });
});

describe('the names of a file', () => {
  it('are those with its number on its disk', () => {
    const names = new FirstNames();
    const find = (path: string, device: bigint, linkCount = 2): string | undefined =>
      names.find(bs(path), {
        ...bareDirectory(bs(path), new Uint8Array()),
        type: 'fifo',
        hardlink: { device, linkCount },
        inode: 5n,
      });
    expect(find('a', 1n)).toBeUndefined();
    expect(find('b', 2n)).toBeUndefined();
    expect([find('c', 1n), find('d', 2n)]).toEqual(['a', 'b']);
    // When all of its names were seen, it is forgotten.
    expect(find('e', 1n, 3)).toBeUndefined();
    expect([find('f', 1n, 3), find('g', 1n, 3)]).toEqual(['e', 'e']);
  });
});
