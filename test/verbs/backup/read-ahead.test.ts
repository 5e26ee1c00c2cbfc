import { spawnSync } from 'node:child_process';
import { appendFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { readMetadata } from '../../../src/core/files/source/source-metadata.ts';
import type { ListedFile } from '../../../src/core/files/source/source-stream.ts';
import { ReadAhead } from '../../../src/verbs/backup/read-ahead.ts';
import type { FileAhead } from '../../../src/verbs/backup/read-ahead.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { takeThreadsAway, threadsOfTests } from '../../support/test-threads.ts';

const KIB = 1024;
const hasher = new ChunkHasher('sha1', Buffer.alloc(32, 7));
const prng = createPrng(20261121);

interface TestFile extends ListedFile {
  readonly text: string;
  readonly content: Buffer;
}

function makeFile(directory: string, name: string, sizeBytes: number): TestFile {
  const text = join(directory, name);
  const content = prng.bytes(sizeBytes);
  writeFileSync(text, content);
  const path = byteStringFromText(text);
  return { text, path, content, metadata: readMetadata(path) };
}

type Threads = ConstructorParameters<typeof ReadAhead>[0]['threads'];

function makeAhead(chunkBytesMin = 256 * KIB, threads: Threads = threadsOfTests(), filesAtOnce?: number): ReadAhead {
  return new ReadAhead({ threads, hasher, chunkBytesMin, filesAtOnce, atOnce: 2 });
}

/** Counts the batches that are started and whose result is not known. */
class CountingThreads implements Threads {
  active = 0;
  most = 0;

  readFiles(...given: Parameters<Threads['readFiles']>): ReturnType<Threads['readFiles']> {
    const started = threadsOfTests().readFiles(...given);
    this.active += 1;
    this.most = Math.max(this.most, this.active);
    const result = async (): ReturnType<typeof started.result> => {
      const found = await started.result();
      this.active -= 1;
      return found;
    };
    return { result, drop: async () => started.drop() };
  }
}

async function expectTaken(ahead: ReadAhead, file: TestFile, offered: FileAhead): Promise<void> {
  const whole = await ahead.take(offered);
  expect(Buffer.from(whole!.bytes).equals(file.content)).toBe(true);
  expect(Buffer.from(whole!.chunkId).equals(Buffer.from(hasher.dataId(file.content)))).toBe(true);
  ahead.release(offered);
}

function changesNobodyMayMiss(): [string, (file: TestFile) => void][] {
  return [
    ['gone', ({ text }) => rmSync(text)],
    ['longer', ({ text }) => appendFileSync(text, 'x')],
    ['shorter', ({ text, content }) => truncateSync(text, content.length - 1)],
    ['empty', ({ text }) => truncateSync(text, 0)],
    ['of another time', ({ text }) => utimesSync(text, 1, 1)],
    [
      'another file of the same size',
      ({ text, content }) => {
        writeFileSync(`${text}.new`, content);
        renameSync(`${text}.new`, text);
      },
    ],
    [
      'a FIFO that nobody writes to',
      ({ text }) => {
        rmSync(text);
        spawnSync('mkfifo', [text]);
      },
    ],
  ];
}

describe.each(['by the caller', 'by threads'])('files read ahead %s', (where) => {
  beforeAll(() => {
    if (where === 'by the caller') return takeThreadsAway();
    threadsOfTests().prepare();
    return undefined;
  });

  test('have their bytes and ids, whatever their sizes, and come as they were offered', async () => {
    const ahead = makeAhead();
    const directory = temporaryDirectory();
    const sizes = [0, 1, 256 * KIB, 256 * KIB, 256 * KIB - 1, ...Array.from({ length: 400 }, () => prng.int(12 * KIB))];
    const waiting: { file: TestFile; offered: FileAhead }[] = [];
    for (const [index, size] of sizes.entries()) {
      const file = makeFile(directory, `file-${index}`, size);
      while (ahead.isFull) {
        const first = waiting.shift()!;
        await expectTaken(ahead, first.file, first.offered);
      }
      waiting.push({ file, offered: ahead.offer(file)! });
    }
    expect(waiting.length).toBeGreaterThan(1);
    expect(waiting.length).toBeLessThan(sizes.length);
    for (const { file, offered } of waiting) await expectTaken(ahead, file, offered);
    expect(ahead.isFull).toBe(false);
  });

  test.each([2, 3])('are at most as many at a time as are wanted: %i', async (filesAtOnce) => {
    const threads = new CountingThreads();
    const ahead = makeAhead(256 * KIB, threads, filesAtOnce);
    const directory = temporaryDirectory();
    const files = Array.from({ length: 40 }, (_, index) => makeFile(directory, `file-${index}`, 200 * KIB));
    const waiting: { file: TestFile; offered: FileAhead }[] = [];
    for (const file of files) {
      while (ahead.isFull) {
        const { file: first, offered } = waiting.shift()!;
        await expectTaken(ahead, first, offered);
      }
      waiting.push({ file, offered: ahead.offer(file)! });
    }
    await expectTaken(ahead, waiting[0]!.file, waiting[0]!.offered);
    await expectTaken(ahead, waiting[1]!.file, waiting[1]!.offered);
    // The next one is read meanwhile.
    expect(threads.active).toBeGreaterThan(0);
    for (const { file, offered } of waiting.slice(2)) await expectTaken(ahead, file, offered);
    expect(threads.most).toBe(filesAtOnce - 1);
    expect(ahead.isFull).toBe(false);
  });

  test('are none if one file is to be read at a time', () => {
    const ahead = makeAhead(256 * KIB, threadsOfTests(), 1);
    expect(ahead.offer(makeFile(temporaryDirectory(), 'file', 1))).toBeUndefined();
  });

  test.each(changesNobodyMayMiss())('are not taken for what was listed when they are %s', async (_, change) => {
    const ahead = makeAhead();
    const directory = temporaryDirectory();
    const files = ['before', 'changed', 'behind'].map((name) => makeFile(directory, name, 5000));
    const offered = files.map((file) => ahead.offer(file)!);
    change(files[1]!);
    await expectTaken(ahead, files[0]!, offered[0]!);
    expect(await ahead.take(offered[1]!)).toBeUndefined();
    ahead.release(offered[1]!);
    await expectTaken(ahead, files[2]!, offered[2]!);
  });

  test('keep their bytes until they are released', async () => {
    const ahead = makeAhead();
    const directory = temporaryDirectory();
    const first = makeFile(directory, 'first', 100 * KIB);
    const offered = ahead.offer(first)!;
    const whole = await ahead.take(offered);
    for (let count = 0; count < 20; count += 1) {
      const file = makeFile(directory, `file-${count}`, 200 * KIB);
      await expectTaken(ahead, file, ahead.offer(file)!);
    }
    expect(Buffer.from(whole!.bytes).equals(first.content)).toBe(true);
    ahead.release(offered);
  });
});

test('a file that may be more than one chunk is left to be cut', () => {
  const directory = temporaryDirectory();
  const ahead = makeAhead(1000);
  expect(ahead.offer(makeFile(directory, 'small', 1000))).toBeDefined();
  expect(ahead.offer(makeFile(directory, 'large', 1001))).toBeUndefined();
  // Also where chunks are larger than what is worth reading ahead.
  expect(makeAhead(64 << 20).offer(makeFile(directory, 'huge', 257 * KIB))).toBeUndefined();
});

test('a backup that stops waits for the thread that still reads', async () => {
  let endThread = (): void => undefined;
  const threadIsDone = new Promise<void>((resolve) => void (endThread = resolve));
  const found = { isAsListed: new Uint8Array(), chunkIds: new Uint8Array(), attributes: undefined };
  const reading = { result: async () => found, drop: async () => threadIsDone };
  const directory = temporaryDirectory();
  const ahead = makeAhead(undefined, { readFiles: () => reading });
  // The second does not fit beside the first, whose reading starts.
  for (const name of ['first', 'second', 'third']) ahead.offer(makeFile(directory, name, 250 * KIB));
  let isStopped = false;
  const stopping = ahead.stop().then(() => (isStopped = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isStopped).toBe(false);
  endThread();
  await stopping;
});
