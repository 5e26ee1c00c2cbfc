import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { deviceMajorOf, deviceMinorOf } from '../../../src/core/files/native/device-number.ts';
import type { SourceMetadata } from '../../../src/core/files/source/status-fields.ts';
import { byteStringFromText, fsPath } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { isRoot } from '../../support/unprivileged.ts';
import { bytes } from './sample-entry.ts';

const NS = 1_000_000_000n;

/** Compares with what Node says. */
export function expectSame(found: SourceMetadata | undefined, stats: BigIntStats): void {
  const types = {
    file: stats.isFile(),
    directory: stats.isDirectory(),
    symlink: stats.isSymbolicLink(),
    fifo: stats.isFIFO(),
    socket: stats.isSocket(),
    'character-device': stats.isCharacterDevice(),
    'block-device': stats.isBlockDevice(),
  };
  const isDevice = stats.isCharacterDevice() || stats.isBlockDevice();
  expect(types[found!.type], found!.type).toBe(true);
  expect({ ...found, type: undefined }).toEqual({
    type: undefined,
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mtimeSeconds: Math.floor(Number(stats.mtimeNs) / 1e9),
    mtimeNanoseconds: Number(((stats.mtimeNs % NS) + NS) % NS),
    ctimeSeconds: Math.floor(Number(stats.ctimeNs) / 1e9),
    ctimeNanoseconds: Number(((stats.ctimeNs % NS) + NS) % NS),
    inode: stats.ino,
    device: stats.dev,
    sizeBytes: Number(stats.size),
    allocatedBytes: Number(stats.blocks) * 512,
    // The calls of Node show another time where the file system has none.
    ...(found!.birthSeconds === undefined
      ? { birthSeconds: undefined, birthNanoseconds: found!.birthNanoseconds }
      : birthTimeOf(stats)),
    linkCount: Number(stats.nlink),
    deviceMajor: isDevice ? deviceMajorOf(stats.rdev) : 0,
    deviceMinor: isDevice ? deviceMinorOf(stats.rdev) : 0,
  });
}

function birthTimeOf({ birthtimeNs }: BigIntStats): Pick<SourceMetadata, 'birthSeconds' | 'birthNanoseconds'> {
  const birthNanoseconds = Number(((birthtimeNs % NS) + NS) % NS);
  return { birthSeconds: Math.floor(Number(birthtimeNs) / 1e9), birthNanoseconds };
}

/** A directory with an entry of each kind, and what is hard about them; all of their paths, its own too. */
export function everyKind(): ByteString[] {
  const directory = byteStringFromText(temporaryDirectory());
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('file'), 'content', { mode: 0o6711 });
  linkSync(at('file'), at('other name'));
  writeFileSync(at('old'), '');
  utimesSync(at('old'), new Date(-1500), new Date(-1500));
  writeFileSync(at('huge'), '');
  truncateSync(at('huge'), 2 ** 43 + 5);
  mkdirSync(at('directory'));
  symlinkSync('nowhere', at('link'));
  writeFileSync(fsPath(bytes(directory, '/', 0xff, 0xe9)), 'x');
  spawnSync('mkfifo', [at('fifo')]);
  if (isRoot) {
    spawnSync('mknod', [at('device'), 'b', '4095', '1048575']);
    chownSync(at('file'), 70_001, 4_294_967_294);
    // The system takes set-id bits away from a file that changes hands.
    chmodSync(at('file'), 0o6711);
  }
  const names = readdirSync(fsPath(directory), 'buffer').map((name) => `/${name.toString('latin1')}`);
  expect(names.length).toBeGreaterThanOrEqual(8);
  return ['', ...names].map((name) => (directory + name) as ByteString);
}
