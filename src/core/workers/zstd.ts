import type { Zstd } from './zstd-frame.ts';
import { CorruptDataError, InstallationError, LdmError } from '../errors.ts';
import { openNodeZstd } from './node-zstd.ts';
import { openPackagedZstd } from './packaged-zstd.ts';
import { openSystemZstd } from './system-zstd.ts';
import { assertOneFrame } from './zstd-frame.ts';

/** That of Node, the library of the system, or the one in a package. */
export type ZstdName = 'node' | 'system' | 'package';

/** Returns undefined if this implementation cannot be loaded. */
type OpenZstd = () => Zstd | undefined;

/**
 * Per second of processor time, with 256 MiB of files of /usr in blocks of 4 MiB at level 2 (medians of 5, Node 24), and
 * the peak memory of a first backup of 1.5 GB in 56,000 files:
 *
 *                       compress   decompress   Node 20   Node 22   Node 24   Node 26
 *     node:zlib         460 MB/s   1,280 MB/s         -    448 MB    240 MB    231 MB
 *     system's library  520 MB/s   2,400 MB/s    220 MB    259 MB    230 MB    220 MB
 *     package           380 MB/s     580 MB/s
 *
 * Node's own zstd comes first if it frees its memory, since it is always present and the same on every machine.
 * Node 22 keeps the context of each call until the next garbage collection.
 */
const IMPLEMENTATIONS: ReadonlyMap<ZstdName, OpenZstd> = new Map<ZstdName, OpenZstd>(
  freesContexts()
    ? [
        ['node', openNodeZstd],
        ['system', openSystemZstd],
        ['package', openPackagedZstd],
      ]
    : [
        ['system', openSystemZstd],
        ['node', openNodeZstd],
        ['package', openPackagedZstd],
      ],
);

function freesContexts(): boolean {
  return Number(process.versions.node.split('.')[0]) >= 24;
}

/** A frame from the zstd program, to test an implementation. */
const PROOF_FRAME = Buffer.from('KLUv/QBYVQAAIGxkbSABAIeOCA==', 'base64');
const PROOF_TEXT = 'ldm ldm ldm ldm ldm ldm ldm ldm';

/**
 * Blocks of this size, such as the tree of a directory with a million files, use the system's library if possible:
 * node:zlib returns its output in new memory, which is 100 MB more for such a tree.
 */
export const LARGE_BLOCK_BYTES: number = 16 * 1024 * 1024;

let zstd: Zstd | undefined;
let zstdForLarge: Zstd | undefined;

/**
 * Returns the best implementation of zstd that works here for a block of `rawBytes` bytes. Their frames are
 * interchangeable.
 * @throws InstallationError if there is none
 */
export function openZstd(rawBytes = 0): Zstd {
  if (rawBytes < LARGE_BLOCK_BYTES) return (zstd ??= firstWorking([...IMPLEMENTATIONS.values()]));
  return (zstdForLarge ??= firstWorking([openSystemZstd, () => openZstd()]));
}

/** Returns the name of the implementation that `openZstd` uses for usual blocks; undefined if there is none. */
export function zstdInUse(): ZstdName | undefined {
  return [...IMPLEMENTATIONS].find(([, open]) => {
    const candidate = open();
    const isWorking = candidate !== undefined && works(candidate);
    candidate?.close?.();
    return isWorking;
  })?.[0];
}

/** Call when a thread ends. */
export function closeZstd(): void {
  for (const each of new Set([zstd, zstdForLarge])) each?.close?.();
  zstd = undefined;
  zstdForLarge = undefined;
}

function firstWorking(implementations: readonly OpenZstd[]): Zstd {
  for (const open of implementations) {
    const candidate = open();
    if (candidate !== undefined && works(candidate)) return candidate;
  }
  throw new InstallationError('zstd is missing from this installation of ldm, so no repository can be used', {
    hint:
      'Use Node 22.15 or later, which contains zstd, or reinstall ldm with its optional packages, ' +
      'among them those of koffi and @toondepauw/node-zstd: npm install --include=optional',
  });
}

/** Tests an implementation: a broken library would make every block look damaged. */
function works(candidate: Zstd): boolean {
  const target = Buffer.alloc(PROOF_TEXT.length);
  try {
    return candidate.decompressInto(target, PROOF_FRAME) === target.length && target.toString() === PROOF_TEXT;
  } catch {
    return false;
  }
}

/**
 * Decompresses a frame from a file into `raw`, and returns `raw`.
 * @throws CorruptDataError unless the output has exactly the length of `raw`
 */
export function decompressZstd(payload: Uint8Array, raw: Uint8Array): Uint8Array {
  const frame = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  assertOneFrame(frame);
  const decompressor = openZstd(raw.length);
  let lengthBytes: number;
  try {
    lengthBytes = decompressor.decompressInto(raw, frame);
  } catch (cause) {
    if (cause instanceof CorruptDataError) throw cause;
    if (isOutOfMemory(cause)) throw new LdmError('not enough memory to decompress a block', { cause });
    throw new CorruptDataError('a block cannot be decompressed', { cause });
  }
  assertLength(lengthBytes, raw.length);
  return raw;
}

/** The implementations share no error code, only this wording of zstd and V8. */
function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /not enough memory|allocation failed/i.test(error.message);
}

export function assertLength(foundBytes: number, rawBytes: number): void {
  if (foundBytes !== rawBytes) {
    throw new CorruptDataError(`a block decompresses to ${foundBytes} bytes, but its header says ${rawBytes}`);
  }
}
