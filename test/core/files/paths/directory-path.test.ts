import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openDirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import type { DirectoryPath, DirectoryPathOptions } from '../../../../src/core/files/paths/directory-path.ts';
import { heldDirectoryCount } from '../../../../src/core/files/paths/held-directories.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { listNames } from '../../../../src/core/files/source/source-files.ts';
import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { finishTargetDirectory, makeTargetDirectory } from '../../../../src/core/files/target/target-directory.ts';
import { createTargetFile, finishTargetFile } from '../../../../src/core/files/target/target-writer.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { giveToNobody, withoutPrivileges } from '../../../support/unprivileged.ts';
import { bytes, sampleEntry } from '../sample-entry.ts';

const linux = process.platform === 'linux';
const SOURCE = { side: 'source' } as const;

describe.runIf(linux)('DirectoryPath', () => {
  it('creates and walks a tree far beyond the longest path, with few descriptors', () => {
    const top = temporaryDirectory();
    // Node's own removal ends at 4096 bytes too.
    onTestFinished(() => void spawnSync('rm', ['-rf', join(top, 'd')]));
    const name = bytes('d', 0xff, 'x'.repeat(198));
    const policy = createTargetPolicy();
    const open: DirectoryPath[] = [];
    let current = openDirectoryPath(byteStringFromText(top), { side: 'target' });
    for (const child of ['d' as ByteString, ...Array<ByteString>(60).fill(name)]) {
      open.push(current);
      makeTargetDirectory(current.childPath(child));
      current = current.enter(child);
    }
    const entry = sampleEntry({ mode: 0o600 });
    const path = current.childPath(bytes('leaf'));
    const descriptor = createTargetFile(path, 0o600);
    writeSync(descriptor, 'deep');
    expect(finishTargetFile(descriptor, entry, { path, policy })).toBeUndefined();
    expect(
      finishTargetDirectory(current.prefix, sampleEntry({ type: 'directory', mode: 0o711 }), policy),
    ).toBeUndefined();
    expect(readMetadata(current.prefix)).toMatchObject({
      type: 'directory',
      mode: 0o711,
      mtimeNanoseconds: 123_456_789,
    });
    expect(heldDirectoryCount()).toBeLessThan(5);
    current.close();
    for (const directory of open) directory.close();
    expect(heldDirectoryCount()).toBe(0);

    const walked = walkDown(openDirectoryPath(byteStringFromText(top), SOURCE));
    expect(walked).toEqual({ depth: 61, content: 'deep' });
    expect(heldDirectoryCount()).toBe(0);
    expect(spawnSync('find', [top, '-name', 'leaf', '-printf', '%s %m'], { encoding: 'utf8' }).stdout).toBe('4 600');
  });

  it('starts at a long path and speaks of logical paths in messages', () => {
    const top = temporaryDirectory();
    onTestFinished(() => void spawnSync('rm', ['-rf', join(top, 'd')]));
    const names = ['d', ...Array<string>(25).fill('n'.repeat(200))] as ByteString[];
    const made = names.reduce(
      (directory, name) => {
        makeTargetDirectory(directory.childPath(name));
        const child = directory.enter(name);
        directory.close();
        return child;
      },
      openDirectoryPath(byteStringFromText(top), { side: 'target' }),
    );
    made.close();
    const whole = `${top}/${names.join('/')}` as ByteString;
    const start = openDirectoryPath(whole, SOURCE);
    expect(listNames(start.prefix)).toEqual([]);
    expect(() => readMetadata(start.childPath(bytes('gone')))).toThrow(
      expect.objectContaining({ path: `${whole}/gone`, errno: 'ENOENT' }),
    );
    start.close();
    expect(heldDirectoryCount()).toBe(0);
  });

  it('may be closed before its children', () => {
    const top = temporaryDirectory();
    mkdirSync(join(top, 'a/b'), { recursive: true });
    writeFileSync(join(top, 'a/b/file'), '');
    const directory = openDirectoryPath(byteStringFromText(top), { side: 'source', hold: 'always' });
    const child = directory.enter(bytes('a'));
    directory.close();
    directory.close();
    const grandchild = child.enter(bytes('b'));
    child.close();
    expect(listNames(grandchild.prefix)).toEqual(['file']);
    grandchild.close();
    expect(heldDirectoryCount()).toBe(0);
  });

  it('closes the directories far above, and opens them again on the way back', () => {
    const { top, walk } = enterMany(300, { side: 'source', hold: 'always' });
    expect(heldDirectoryCount()).toBe(301);
    walk.at(-1)!.restOuter();
    expect(heldDirectoryCount()).toBeLessThan(50);
    writeFileSync(walk.at(-1)!.childPath(bytes('file')), 'x');
    for (const directory of walk.toReversed()) {
      expect(readMetadata(directory.prefix)).toMatchObject({ type: 'directory' });
      directory.close();
      expect(heldDirectoryCount()).toBeLessThan(120);
    }
    expect(heldDirectoryCount()).toBe(0);
    expect(readFileSync(join(top, ...Array<string>(300).fill('d'), 'file'), 'utf8')).toBe('x');
  });

  it('opens them again although the ones above were given up', () => {
    const { walk } = enterMany(100, { side: 'source', hold: 'always' });
    const [inner, last] = walk.slice(-40);
    walk.at(-1)!.restOuter();
    for (const directory of walk) if (directory !== inner && directory !== last) directory.close();
    expect(readMetadata(inner!.prefix)).toMatchObject({ type: 'directory' });
    expect(heldDirectoryCount()).toBeLessThanOrEqual(2);
    inner!.close();
    last!.close();
    expect(heldDirectoryCount()).toBe(0);
  });

  it('does not go back to another directory of the same name', () => {
    const { top, walk } = enterMany(100, { side: 'target', hold: 'always' });
    walk.at(-1)!.restOuter();
    const moved = join(top, ...Array<string>(10).fill('d'));
    renameSync(moved, join(top, 'moved'));
    mkdirSync(join(moved, ...Array<string>(90).fill('d')), { recursive: true });
    expect(() => walk[50]!.childPath(bytes('file'))).toThrow(
      expect.objectContaining({ code: 'TARGET', errno: 'ESTALE' }),
    );
    for (const directory of walk) directory.close();
    expect(heldDirectoryCount()).toBe(0);
  });

  it('held always, is not redirected by a directory exchanged for a symlink', () => {
    const top = temporaryDirectory();
    mkdirSync(join(top, 'target/sub'), { recursive: true });
    mkdirSync(join(top, 'outside'));
    const target = openDirectoryPath(byteStringFromText(join(top, 'target')), { side: 'target', hold: 'always' });
    const sub = target.enter(bytes('sub'));
    renameSync(join(top, 'target/sub'), join(top, 'target/moved'));
    symlinkSync('../outside', join(top, 'target/sub'));
    writeFileSync(sub.childPath(bytes('file')), 'x');
    expect(readdirSync(join(top, 'outside'))).toEqual([]);
    expect(readFileSync(join(top, 'target/moved/file'), 'utf8')).toBe('x');
    expect(() => target.enter(bytes('sub'))).toThrow(expect.objectContaining({ code: 'TARGET', errno: 'ENOTDIR' }));
    sub.close();
    target.close();
  });

  it('held always, goes by its path where it may be written into and not be read', async () => {
    const top = temporaryDirectory();
    mkdirSync(join(top, 'sub'));
    giveToNobody(top);
    chmodSync(join(top, 'sub'), 0o300);
    await withoutPrivileges(async () => {
      const directory = openDirectoryPath(byteStringFromText(top), { side: 'target', hold: 'always' });
      const sub = directory.enter(bytes('sub'));
      expect(heldDirectoryCount()).toBe(1);
      writeFileSync(sub.childPath(bytes('file')), 'x');
      sub.close();
      directory.close();
    });
    expect(heldDirectoryCount()).toBe(0);
    expect(readFileSync(join(top, 'sub', 'file'), 'utf8')).toBe('x');
  });
});

/** Makes directories in each other and walks into them. */
function enterMany(
  count: number,
  options: DirectoryPathOptions,
): { readonly top: string; readonly walk: readonly DirectoryPath[] } {
  const top = temporaryDirectory();
  const walk = [openDirectoryPath(byteStringFromText(top), options)];
  mkdirSync(join(top, ...Array<string>(count).fill('d')), { recursive: true });
  for (let entered = 0; entered < count; entered += 1) walk.push(walk.at(-1)!.enter(bytes('d')));
  return { top, walk };
}

function walkDown(directory: DirectoryPath, depth = 0): { depth: number; content: string } {
  const [name] = listNames(directory.prefix);
  const path = directory.childPath(name!);
  try {
    if (readMetadata(path).type === 'file')
      return { depth, content: readFileSync(Buffer.from(path, 'latin1'), 'utf8') };
    return walkDown(directory.enter(name!), depth + 1);
  } finally {
    directory.close();
  }
}
