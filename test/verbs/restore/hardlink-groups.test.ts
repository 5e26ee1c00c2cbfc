import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { openDirectoryPath } from '../../../src/core/files/paths/directory-path.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { HardlinkGroups } from '../../../src/verbs/restore/hardlink-groups.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { sampleEntry } from '../../core/files/sample-entry.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const FILE: Partial<TreeEntry> = {
  inode: 7n,
  hardlink: { device: 3n, linkCount: 2 },
  chunkIds: new Uint8Array(20).fill(1),
};

/** Notes one entry and links another to it. Returns how many names the first file has then. */
function link(first: TreeEntry, second: TreeEntry): number {
  const directory = temporaryDirectory();
  const [firstPath, secondPath] = ['first', 'second'].map((name) => byteStringFromText(join(directory, name)));
  writeFileSync(firstPath!, 'content');
  const groups = new HardlinkGroups();
  const target = openDirectoryPath(byteStringFromText(directory), { side: 'target' });
  groups.note({ ...first, name: byteStringFromText('first') }, target, { isWritten: true });
  expect(groups.link(second, secondPath!, { replaces: false })).toBe(statSync(firstPath!).nlink === 2);
  return statSync(firstPath!).nlink;
}

describe('two names of one file', () => {
  test('are joined if the snapshot has the same for both', () => {
    expect(link(sampleEntry(FILE), sampleEntry({ ...FILE, mode: 0o600 }))).toBe(2);
  });

  test.each<[string, Partial<TreeEntry>]>([
    ['another file system', { hardlink: { device: 4n, linkCount: 2 } }],
    ['another inode', { inode: 8n }],
    ['no other name', { hardlink: undefined }],
    ['another content, since the file changed between its two names', { chunkIds: new Uint8Array(20).fill(2) }],
    ['more content', { chunkIds: new Uint8Array(40).fill(1) }],
    ['another type', { type: 'fifo' }],
    ['another link target', { type: 'symlink', linkTarget: byteStringFromText('x') }],
    ['another device, by its major number', { deviceMajor: 1 }],
    ['another device, by its minor number', { deviceMinor: 1 }],
  ])('stay apart where the second has %s', (_, difference) => {
    expect(link(sampleEntry(FILE), sampleEntry({ ...FILE, ...difference }))).toBe(1);
  });

  test('that are symlinks stay apart where they lead elsewhere', () => {
    const symlink = (target: string): TreeEntry =>
      sampleEntry({ ...FILE, type: 'symlink', linkTarget: byteStringFromText(target) });
    expect(link(symlink('a'), symlink('b'))).toBe(1);
    expect(link(symlink('a'), symlink('a'))).toBe(2);
  });
});
