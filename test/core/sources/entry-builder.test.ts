import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openOwnerNames } from '../../../src/core/files/native/owner-names.ts';
import { readMetadata } from '../../../src/core/files/source/source-metadata.ts';
import type { SourceMetadata } from '../../../src/core/files/source/status-fields.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { buildEntry, hasSameContent, isSameEntry, isSameOther } from '../../../src/core/sources/entry-builder.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const NAME = byteStringFromText('file');

function makeFile(): { metadata: SourceMetadata; entry: TreeEntry; ctimeMs: number; path: string } {
  const path = join(memoryDirectory(), 'file');
  writeFileSync(path, 'content');
  // A clock with nanoseconds, whatever the file system has.
  const metadata = { ...readMetadata(byteStringFromText(path)), ctimeNanoseconds: 5_000_000 };
  const entry = buildEntry(NAME, metadata, openOwnerNames(), { sizeBytes: metadata.sizeBytes }, NO_ATTRIBUTES);
  return { metadata, entry, ctimeMs: metadata.ctimeSeconds * 1000 + 5, path };
}

describe('hasSameContent', () => {
  it('believes a file of which nothing changed since well before the backup began', () => {
    const { metadata, entry, ctimeMs } = makeFile();
    expect(hasSameContent(entry, metadata, ctimeMs + 51)).toBe(true);
  });

  it('does not believe one that changed within a tick of the clock, or after the backup began', () => {
    const { metadata, entry, ctimeMs } = makeFile();
    for (const sinceMs of [ctimeMs + 50, ctimeMs, ctimeMs - 10_000]) {
      expect(hasSameContent(entry, metadata, sinceMs)).toBe(false);
    }
  });

  it('takes a longer tick where times have no fraction', () => {
    const { metadata, entry } = makeFile();
    const coarse = { ...metadata, ctimeNanoseconds: 0 };
    const entryOfCoarse = { ...entry, ctimeNanoseconds: 0 };
    const ctimeMs = coarse.ctimeSeconds * 1000;
    expect(hasSameContent(entryOfCoarse, coarse, ctimeMs + 1999)).toBe(false);
    expect(hasSameContent(entryOfCoarse, coarse, ctimeMs + 2001)).toBe(true);
  });

  it.each([
    ['sizeBytes', 1],
    ['mtimeSeconds', 1],
    ['mtimeNanoseconds', 1],
    ['ctimeSeconds', -1],
    ['ctimeNanoseconds', 1],
    ['inode', 1n],
    ['type', 'symlink'],
  ] as const)('does not believe one with another %s', (field, value) => {
    const { metadata, entry, ctimeMs } = makeFile();
    expect(hasSameContent(entry, { ...metadata, [field]: value }, ctimeMs + 60_000)).toBe(false);
  });

  it('never believes a file that had changed while it was read, even if size and times are equal', () => {
    const { metadata, entry, ctimeMs } = makeFile();
    expect(hasSameContent({ ...entry, changedWhileRead: true }, metadata, ctimeMs + 60_000)).toBe(false);
  });
});

describe('isSameEntry', () => {
  const owners = openOwnerNames();

  it.each([
    ['mode', 1],
    ['uid', 1],
    ['gid', 1],
    ['linkCount', 1],
    ['mtimeSeconds', 1],
    ['mtimeNanoseconds', 1],
    ['ctimeSeconds', 1],
    ['ctimeNanoseconds', 1],
    ['inode', 1n],
  ] as const)('sees another %s', (field, more) => {
    const { metadata, entry } = makeFile();
    expect(isSameEntry(entry, metadata, owners)).toBe(true);
    const changed = { ...metadata, [field]: (metadata[field] as number) + (more as number) };
    expect(isSameEntry(entry, changed, owners)).toBe(false);
  });

  it('sees that a user or group has another name', () => {
    const { metadata, entry } = makeFile();
    expect(isSameEntry({ ...entry, user: byteStringFromText('old') }, metadata, owners)).toBe(false);
    expect(isSameEntry({ ...entry, group: byteStringFromText('old') }, metadata, owners)).toBe(false);
  });

  it('sees that a group of hard links is on another device', () => {
    const { path } = makeFile();
    linkSync(path, `${path}-too`);
    const metadata = readMetadata(byteStringFromText(path));
    const entry = buildEntry(NAME, metadata, owners, {}, NO_ATTRIBUTES);
    expect(isSameEntry(entry, metadata, owners)).toBe(true);
    expect(isSameEntry(entry, { ...metadata, device: metadata.device + 1n }, owners)).toBe(false);
  });

  it('does not count the links of a directory, which depend on what is in it', () => {
    const metadata = readMetadata(byteStringFromText(memoryDirectory()));
    const entry = buildEntry(NAME, metadata, owners, { treeId: new Uint8Array(20) }, NO_ATTRIBUTES);
    expect(isSameEntry(entry, { ...metadata, linkCount: metadata.linkCount + 1 }, owners)).toBe(true);
    expect(isSameEntry(entry, { ...metadata, type: 'file' }, owners)).toBe(false);
  });
});

describe('isSameOther', () => {
  const owners = openOwnerNames();
  const link = { type: 'symlink', sizeBytes: 6 } as const;

  it('sees a symlink of another length, and another device number', () => {
    const metadata: SourceMetadata = { ...makeFile().metadata, ...link };
    const linkTarget = byteStringFromText('target');
    const entry = buildEntry(NAME, metadata, owners, { linkTarget }, NO_ATTRIBUTES);
    expect(isSameOther(entry, metadata, owners)).toBe(true);
    expect(isSameOther(entry, { ...metadata, sizeBytes: 7 }, owners)).toBe(false);
    expect(isSameOther(entry, { ...metadata, deviceMinor: 1 }, owners)).toBe(false);
    expect(isSameOther(entry, { ...metadata, mode: metadata.mode ^ 1 }, owners)).toBe(false);
  });
});
