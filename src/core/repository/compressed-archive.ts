import { Readable, pipeline } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { ArchiveError } from '../errors.ts';
import type { ArchiveBytes } from '../format/tar/archive-input.ts';
import { isChecksumRight } from '../format/tar/tar-fields.ts';
import { TAR_BLOCK_BYTES } from '../format/tar/tar-member.ts';
import { openZstdStream } from '../workers/zstd-stream.ts';

const GZIP_MAGIC = 0x8b1f;
const ZSTD_MAGIC = 0xfd2fb528;
/** The first of 16 kinds of frames without content, with which pzstd begins. */
const SKIPPABLE_MAGIC = 0x184d2a50;
/** What zlib says of a member that does not begin like one. The first one does. */
const NO_MEMBER = 'incorrect header check';
const TRAILING_HINT =
  'To import what is before it, decompress it on the way: `gzip -dcq <archive> | ...`, with - as the name of the archive.';
const INCOMPLETE = 'the archive is incomplete: its compressed data ends early';

/**
 * Returns the bytes of an archive, decompressed if it is compressed with gzip or zstd, in one part or several.
 * @throws ArchiveError if the compressed data is damaged or incomplete
 */
export async function* decompressed(archive: ArchiveBytes): AsyncGenerator<Uint8Array> {
  const source = Symbol.asyncIterator in archive ? archive[Symbol.asyncIterator]() : archive[Symbol.iterator]();
  let first = Buffer.alloc(0);
  let isOpen = true;
  while (isOpen && first.length < TAR_BLOCK_BYTES) {
    const { done, value } = await source.next();
    if (done === true) isOpen = false;
    else first = Buffer.concat([first, value]);
  }
  const bytes = restOf(first, isOpen ? source : undefined);
  if (first.length < 4 || (first.length >= TAR_BLOCK_BYTES && isChecksumRight(first))) yield* bytes;
  else if (first.readUInt16LE(0) === GZIP_MAGIC) yield* gunzipped(bytes);
  else if (isZstd(first.readUInt32LE(0))) yield* unzstd(bytes);
  else yield* bytes;
}

async function* restOf(
  first: Uint8Array,
  source: AsyncIterator<Uint8Array> | Iterator<Uint8Array> | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.length > 0) yield first;
    for (let next = await source?.next(); next !== undefined && next.done !== true; next = await source!.next()) {
      yield next.value;
    }
  } finally {
    await source?.return?.();
  }
}

function isZstd(magic: number): boolean {
  return magic === ZSTD_MAGIC || (magic & ~0xf) === SKIPPABLE_MAGIC;
}

async function* gunzipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  // Its errors arrive where the output is read.
  pipeline(Readable.from(bytes), gunzip, () => undefined);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') !== true) throw error;
    if (message === NO_MEMBER)
      throw new ArchiveError('other data follows the compressed data', { hint: TRAILING_HINT });
    const problem = code === 'Z_BUF_ERROR' ? INCOMPLETE : `the archive cannot be decompressed with gzip: ${message}`;
    throw new ArchiveError(problem, { cause: error });
  }
}

async function* unzstd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = openZstdStream();
  try {
    for await (const piece of bytes) {
      for (const output of stream.decompress(piece)) {
        yield output;
        // A few bytes can contain gigabytes, and signals arrive only here.
        await setImmediate();
      }
    }
    if (!stream.isComplete) throw new ArchiveError(INCOMPLETE);
  } finally {
    stream.close();
  }
}
