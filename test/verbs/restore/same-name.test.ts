import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { createTargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import { WriteBehind } from '../../../src/verbs/restore/write-behind.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { threadsOfTests } from '../../support/test-threads.ts';

test('of two files with one name, which come to different threads, one is refused', async () => {
  const threads = threadsOfTests();
  threads.prepare();
  const none = byteStringFromText('');
  const owner = { uid: process.getuid!(), gid: process.getgid!(), user: none, group: none };
  const metadata = {
    type: 'file',
    mode: 0o600,
    mtimeSeconds: 1,
    mtimeNanoseconds: 0,
    ...owner,
    ...NO_ATTRIBUTES,
    extensions: [],
  } as const;
  for (let round = 0; round < 100; round += 1) {
    const outcomes = { written: 0, failed: 0 };
    const behind = new WriteBehind(createTargetPolicy(), threads, {
      batchesMax: 4,
      onWritten: () => void (outcomes.written += 1),
      onFailed: () => void (outcomes.failed += 1),
    });
    const directory = temporaryDirectory();
    for (let index = 0; index < 128; index += 1) {
      // As on a file system that takes `A` for `a`.
      const path = byteStringFromText(join(directory, index === 104 ? 'f40' : `f${index}`));
      behind.roomFor(8).fill(index);
      behind.add({ path, replaces: false, ...metadata, sizeBytes: 8 });
    }
    await behind.finish();
    expect(outcomes).toEqual({ written: 127, failed: 1 });
    expect(readdirSync(directory)).toHaveLength(127);
  }
});
