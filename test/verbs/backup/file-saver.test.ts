import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { SourceError } from '../../../src/core/errors.ts';
import { readMetadata } from '../../../src/core/files/source/source-metadata.ts';
import { BackupTally } from '../../../src/core/saving/backup-tally.ts';
import { ContentSaver } from '../../../src/core/saving/content-saver.ts';
import { FileSaver } from '../../../src/verbs/backup/file-saver.ts';
import type { SavedFile } from '../../../src/verbs/backup/file-saver.ts';
import { ReadAhead } from '../../../src/verbs/backup/read-ahead.ts';
import { Pacer } from '../../../src/core/util/pacer.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import type { Progress } from '../../../src/core/session/progress.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { createPrng } from '../../support/prng.ts';
import { RecordingSaver } from '../../support/recording-saver.ts';
import { streamCuts } from '../../support/stream-cuts.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { threadsOfTests } from '../../support/test-threads.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';

interface TestSaver {
  readonly saver: FileSaver;
  readonly ahead: ReadAhead;
  readonly chunks: RecordingSaver;
  readonly stored: Uint8Array[];
  readonly progress: Progress;
}

/** `onPut` acts in the middle of a file. */
function makeSaver(onPut?: () => void): TestSaver {
  const chunks = new RecordingSaver(onPut);
  const progress = createProgress();
  const threads = threadsOfTests();
  const hasher = new ChunkHasher('sha1', Buffer.alloc(32, 7));
  const chunker = createChunker(TINY_CHUNKS);
  const ahead = new ReadAhead({ threads, hasher, chunkBytesMin: chunker.minSizeBytes, atOnce: 2 });
  const tally = new BackupTally(progress);
  const content = new ContentSaver({ chunker, hasher, chunks, pacer: new Pacer({}), tally });
  const saver = new FileSaver({ ahead, threads, content });
  return { saver, ahead, chunks, stored: chunks.stored, progress };
}

function makeFile(sizeBytes: number): { path: string; content: Buffer } {
  const path = join(memoryDirectory(), 'file');
  const content = createPrng(sizeBytes).bytes(sizeBytes);
  writeFileSync(path, content);
  return { path, content };
}

async function save({ saver, ahead }: TestSaver, path: string, change?: () => void): Promise<SavedFile> {
  const name = byteStringFromText(path);
  const listed = { path: name, metadata: readMetadata(name) };
  // Small files are offered, and are read after the change.
  const file = ahead.offer(listed);
  change?.();
  return await saver.save(listed, file);
}

describe('FileSaver', () => {
  it.each([0, 1, 512, 513, 8192, 100_000, 1 << 20, (1 << 20) + 1, 3_500_000])(
    'stores %i bytes in order',
    async (size) => {
      const files = makeSaver();
      const { path, content } = makeFile(size);
      const saved = await save(files, path);
      expect(Buffer.concat(files.stored).equals(content)).toBe(true);
      expect(saved).toMatchObject({ sizeBytes: size, changedWhileRead: false });
      expect(saved.chunkIds).toHaveLength(20 * files.stored.length);
      expect(files.progress.bytesDone).toBe(size);
      // What is cut must not depend on where the buffer ends.
      let offset = 0;
      const cuts = files.stored.map(({ length }) => (offset += length));
      expect(cuts).toEqual(streamCuts(createChunker(TINY_CHUNKS), content));
    },
  );

  it('reads a file that grows three times, and keeps the last state with a note', async () => {
    const { path, content } = makeFile(20_000);
    let putCount = 0;
    const files = makeSaver(() => {
      putCount += 1;
      appendFileSync(path, 'x');
    });
    const saved = await save(files, path);
    expect(saved.changedWhileRead).toBe(true);
    expect(putCount).toBeGreaterThan((2 * saved.chunkIds.length) / 20);
    expect(saved.sizeBytes).toBeGreaterThan(content.length);
    expect(saved.sizeBytes).toBeLessThan(readFileSync(path).length);
  });

  it('reads a file that changed since it was listed, and that is no change', async () => {
    const { path } = makeFile(20_000);
    const files = makeSaver();
    const saved = await save(files, path, () => appendFileSync(path, 'x'));
    expect(saved).toMatchObject({ changedWhileRead: false, sizeBytes: 20_001 });
    expect(files.stored.length).toBe(saved.chunkIds.length / 20);
  });
});

it('saves what a file holds that the kernel generates, although its size is 0', async () => {
  const saved = await save(makeSaver(), '/proc/version');
  expect(saved).toMatchObject({ changedWhileRead: false, metadata: { sizeBytes: 0 } });
  expect(saved.sizeBytes).toBeGreaterThan(0);
});

describe('a file that is not saved as a whole', () => {
  it('gives the memory of its chunks back when it fails', async () => {
    const files = makeSaver(() => {
      throw new Error('full');
    });
    await expect(save(files, makeFile(100_000).path)).rejects.toThrow('full');
    expect(files.stored).toHaveLength(1);
    expect(files.chunks.staged.size).toBe(0);
  });
});

describe('a name that stands for something else when it is opened', () => {
  it.each<[string, (path: string) => void]>([
    ['a FIFO that nobody writes to', (path) => spawnSync('mkfifo', [path])],
    ['a symlink to a file', (path) => symlinkSync('/etc/passwd', path)],
    ['a symlink to a device without an end', (path) => symlinkSync('/dev/zero', path)],
    ['a directory', (path) => mkdirSync(path)],
    ['nothing', () => undefined],
  ])('%s: is neither waited for nor followed nor saved', async (_, put) => {
    const { path } = makeFile(5000);
    const files = makeSaver();
    const saving = save(files, path, () => {
      // Kept open by its second name, so that the inode is not used again.
      renameSync(path, `${path}.old`);
      put(path);
    });
    await expect(saving).rejects.toThrow(SourceError);
    rmSync(`${path}.old`);
  });

  it('another file that was renamed over it is the one that is saved', async () => {
    const { path } = makeFile(5000);
    const files = makeSaver();
    const saved = await save(files, path, () => {
      writeFileSync(`${path}.new`, 'other');
      renameSync(`${path}.new`, path);
    });
    expect(saved).toMatchObject({ changedWhileRead: false, sizeBytes: 5 });
    expect(files.stored.length).toBeGreaterThan(0);
  });

  it('a device is not read', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const { path } = makeFile(5000);
    const files = makeSaver();
    const saving = save(files, path, () => {
      renameSync(path, `${path}.old`);
      spawnSync('mknod', [path, 'c', '1', '5']);
    });
    await expect(saving).rejects.toThrow(SourceError);
    expect(files.stored).toEqual([]);
  });
});
