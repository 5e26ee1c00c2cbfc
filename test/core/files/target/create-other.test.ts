import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { createOther } from '../../../../src/core/files/target/target-writer.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { bytes, sampleEntry } from '../sample-entry.ts';

const policy = createTargetPolicy({ makesDevices: true });

describe.each(['linux', 'darwin'] as const)('symlinks and special files, on %s', (platform) => {
  const symlink = sampleEntry({ type: 'symlink', mode: 0o777, linkTarget: bytes('file') });

  function create(directory: string, name: string, entry: TreeEntry): ReturnType<typeof createOther> {
    vi.spyOn(process, 'platform', 'get').mockReturnValue(platform);
    return createOther({ path: bytes(directory, '/', name), replaces: false }, entry, policy);
  }

  it('get their name when they are complete, and leave nothing else', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    const complete = { skipped: undefined, failure: undefined };
    expect(create(directory, 'link', symlink)).toEqual(complete);
    expect(create(directory, 'fifo', sampleEntry({ type: 'fifo', mode: 0o622 }))).toEqual(complete);
    expect(readdirSync(directory).toSorted()).toEqual(['fifo', 'file', 'link']);
    expect(readMetadata(bytes(directory, '/link'))).toMatchObject({ type: 'symlink', mtimeNanoseconds: 123_456_789 });
    expect(readMetadata(bytes(directory, '/fifo'))).toMatchObject({ mode: 0o622, mtimeNanoseconds: 123_456_789 });
    for (const name of ['file', 'fifo']) expect(readMetadata(bytes(directory, '/', name)).linkCount).toBe(1);
  });

  it('do not replace what has taken their name', () => {
    const directory = temporaryDirectory();
    for (const entry of [symlink, sampleEntry({ type: 'fifo' })]) {
      const name = `${entry.type}-taken`;
      writeFileSync(join(directory, name), 'mine');
      expect(() => create(directory, name, entry)).toThrow(
        expect.objectContaining({ code: 'TARGET', path: join(directory, name) }),
      );
      expect(readFileSync(join(directory, name), 'utf8')).toBe('mine');
    }
    expect(readdirSync(directory)).toHaveLength(2);
  });

  it('are reported with their own name', () => {
    const missing = join(temporaryDirectory(), 'missing');
    for (const entry of [symlink, sampleEntry({ type: 'fifo' })]) {
      expect(() => create(missing, 'x', entry)).toThrow(expect.objectContaining({ path: join(missing, 'x') }));
    }
  });
});
