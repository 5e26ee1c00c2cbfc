import { lstatSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openDirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import { createHardlink, fileStateAt } from '../../../../src/core/files/target/hard-link.ts';
import type { KnownFile } from '../../../../src/core/files/target/hard-link.ts';
import { nativeCalls } from '../../../../src/core/files/native/native.ts';
import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { withoutKoffi } from '../../../support/without-koffi.ts';
import { bytes } from '../sample-entry.ts';

/** How the new name is reached, and whether koffi is there. */
const WAYS = [
  ['in a held directory', 'always', true],
  ['in a held directory, without koffi', 'always', false],
  ['by its whole path', 'long', true],
] as const;

const knownFileAt = (path: ByteString): KnownFile => ({ path, state: fileStateAt(path)! });

describe.each(WAYS)('a hard link %s', (_, hold, hasKoffi) => {
  /** A directory of the target, as its whole path and as a restore reaches it. */
  function makeDirectory(): readonly [string, ByteString] {
    if (!hasKoffi) withoutKoffi();
    const directory = temporaryDirectory();
    const target = openDirectoryPath(bytes(directory), { side: 'target', hold });
    onTestFinished(() => target.close());
    expect(nativeCalls() !== undefined).toBe(hasKoffi);
    return [directory, target.prefix];
  }

  it('is the same file, and the same symlink', () => {
    const [directory, prefix] = makeDirectory();
    writeFileSync(`${directory}/file`, 'content');
    symlinkSync('file', `${directory}/symlink`);
    for (const name of ['file', 'symlink']) {
      createHardlink(knownFileAt(bytes(directory, '/', name)), bytes(prefix, '/other-', name, 0xff));
      const other = readMetadata(bytes(directory, '/other-', name, 0xff));
      expect(other).toEqual(readMetadata(bytes(directory, '/', name)));
      expect(other).toMatchObject({ linkCount: 2, type: name });
    }
  });

  it('is not made to a file that has taken the name, even with the same content', () => {
    const [directory, prefix] = makeDirectory();
    const known = knownFileAt(makeFile(directory, 'file'));
    renameSync(known.path, `${directory}/moved`);
    makeFile(directory, 'file');
    expect(() => createHardlink(known, bytes(prefix, '/other'))).toThrow(
      expect.objectContaining({ code: 'TARGET', path: `${directory}/other` }),
    );
    symlinkSync('moved', `${directory}/symlink`);
    const behindSymlink = { ...known, path: bytes(directory, '/symlink') };
    expect(() => createHardlink(behindSymlink, bytes(prefix, '/other'))).toThrow('cannot create the hard link');
    expect(readdirSync(directory).toSorted()).toEqual(['file', 'moved', 'symlink']);
  });

  it('is not made to a file whose content has changed', () => {
    const [directory, prefix] = makeDirectory();
    const known = knownFileAt(makeFile(directory, 'file'));
    writeFileSync(known.path, 'more content');
    expect(() => createHardlink(known, bytes(prefix, '/other'))).toThrow('cannot create the hard link');
  });

  it('replaces nothing, and needs a file', () => {
    const [directory, prefix] = makeDirectory();
    const known = knownFileAt(makeFile(directory, 'file'));
    makeFile(directory, 'taken');
    const before = lstatSync(`${directory}/taken`).ino;
    expect(() => createHardlink(known, bytes(prefix, '/taken'))).toThrow(
      expect.objectContaining({ code: 'TARGET', errno: 'EEXIST' }),
    );
    expect(lstatSync(`${directory}/taken`).ino).toBe(before);
    const gone = { ...known, path: bytes(directory, '/gone') };
    expect(() => createHardlink(gone, bytes(prefix, '/x'))).toThrow(expect.objectContaining({ code: 'TARGET' }));
  });
});

function makeFile(directory: string, name: string): ByteString {
  writeFileSync(`${directory}/${name}`, 'content');
  return bytes(directory, '/', name);
}
