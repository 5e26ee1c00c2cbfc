import type { SourceMetadata } from './status-fields.ts';
import { constants, fstatSync, lstatSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { SourceError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { deviceMajorOf, deviceMinorOf } from '../native/device-number.ts';
import { nearestSeconds, typeOfMode } from './status-fields.ts';
import { unfollowedPath } from '../paths/held-directories.ts';
import { sourceError } from '../paths/path-failures.ts';
import { STATX_CURRENT_DIRECTORY, STATX_FOLLOW, STATX_NO_FOLLOW, STATX_OPEN_FILE, statx } from '../native/statx.ts';

const BIGINT = { bigint: true } as const;
const NO_PATH = '' as ByteString;

/** Reads the metadata of a path, or of the symlink itself if it is one. Throws SourceError. */
export function readMetadata(path: ByteString, wanted: { readonly withAccessTime?: boolean } = {}): SourceMetadata {
  try {
    const target = unfollowedPath(path);
    const found = statx(STATX_CURRENT_DIRECTORY, target, STATX_NO_FOLLOW, wanted);
    return found ?? metadataFrom(lstatSync(fsPath(target), BIGINT), wanted);
  } catch (cause) {
    throw asSourceError(path, cause);
  }
}

/** Reads the metadata of a path and follows symlinks; for roots and the directories above them. Throws SourceError. */
export function readMetadataFollowing(
  path: ByteString,
  wanted: { readonly withAccessTime?: boolean } = {},
): SourceMetadata {
  try {
    const found = statx(STATX_CURRENT_DIRECTORY, path, STATX_FOLLOW, wanted);
    return found ?? metadataFrom(statSync(fsPath(path), BIGINT), wanted);
  } catch (cause) {
    throw asSourceError(path, cause);
  }
}

/** Reads the metadata of an open file. `path` is for messages only. Throws SourceError. */
export function readMetadataOf(descriptor: number, path: ByteString = NO_PATH): SourceMetadata {
  try {
    return statx(descriptor, NO_PATH, STATX_OPEN_FILE) ?? metadataFrom(fstatSync(descriptor, BIGINT));
  } catch (cause) {
    throw asSourceError(path, cause);
  }
}

function metadataFrom(
  stats: BigIntStats,
  { withAccessTime = false }: { readonly withAccessTime?: boolean } = {},
): SourceMetadata {
  const modeAndType = Number(stats.mode);
  const type = typeOfMode(modeAndType);
  const isDevice = type === 'character-device' || type === 'block-device';
  const mtimeSeconds = wholeSeconds(stats.mtimeNs);
  const ctimeSeconds = wholeSeconds(stats.ctimeNs);
  const atimeSeconds = wholeSeconds(stats.atimeNs);
  return {
    type,
    mode: modeAndType & ~constants.S_IFMT,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mtimeSeconds: nearestSeconds(Number(mtimeSeconds)),
    mtimeNanoseconds: Number(stats.mtimeNs - mtimeSeconds * 1_000_000_000n),
    ctimeSeconds: nearestSeconds(Number(ctimeSeconds)),
    ctimeNanoseconds: Number(stats.ctimeNs - ctimeSeconds * 1_000_000_000n),
    inode: BigInt.asUintN(64, stats.ino),
    device: BigInt.asUintN(64, stats.dev),
    sizeBytes: Number(stats.size),
    allocatedBytes: Number(stats.blocks) * 512,
    // Node reports another time where there is none.
    birthSeconds: undefined,
    birthNanoseconds: 0,
    ...(withAccessTime && {
      accessTime: {
        seconds: nearestSeconds(Number(atimeSeconds)),
        nanoseconds: Number(stats.atimeNs - atimeSeconds * 1_000_000_000n),
      },
    }),
    linkCount: Number(stats.nlink),
    deviceMajor: isDevice ? deviceMajorOf(stats.rdev) : 0,
    deviceMinor: isDevice ? deviceMinorOf(stats.rdev) : 0,
  };
}

/** BigInt division rounds towards zero. Times before 1970 must be rounded down. */
function wholeSeconds(nanoseconds: bigint): bigint {
  const seconds = nanoseconds / 1_000_000_000n;
  return nanoseconds < 0n && seconds * 1_000_000_000n !== nanoseconds ? seconds - 1n : seconds;
}

function asSourceError(path: ByteString, cause: unknown): SourceError {
  return sourceError({ operation: 'read the metadata of', path, cause });
}
