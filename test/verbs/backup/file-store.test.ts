import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readMetadata } from '../../../src/core/files/source/source-metadata.ts';
import type { FileSaver } from '../../../src/verbs/backup/file-saver.ts';
import { FileStore } from '../../../src/verbs/backup/file-store.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { NO_SOURCE_ATTRIBUTES } from '../../../src/core/files/source/source-attributes.ts';
import { RecordingSaver } from '../../support/recording-saver.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

test('only another name of the very same file needs no reading', async () => {
  const directory = memoryDirectory();
  const path = byteStringFromText(join(directory, 'a'));
  writeFileSync(path, 'content');
  linkSync(path, join(directory, 'b'));
  const metadata = readMetadata(path);
  const saved = {
    metadata,
    chunkIds: new Uint8Array(20),
    sizeBytes: 7,
    changedWhileRead: false,
    attributes: NO_SOURCE_ATTRIBUTES,
  };
  const saver: Pick<FileSaver, 'save'> = { save: async () => saved };
  const files = new FileStore(saver as FileSaver, new RecordingSaver(), undefined);
  expect(files.linked(metadata)).toBeUndefined();
  await files.save({ path, metadata }, undefined, undefined);
  expect(files.linked(metadata)).toMatchObject({ chunkIds: saved.chunkIds, sizeBytes: 7 });
  for (const changed of [
    { device: metadata.device + 1n },
    { inode: metadata.inode + 1n },
    { sizeBytes: 8 },
    { ctimeSeconds: metadata.ctimeSeconds + 1 },
    { ctimeNanoseconds: metadata.ctimeNanoseconds + 1 },
  ]) {
    expect(files.linked({ ...metadata, ...changed }), Object.keys(changed)[0]).toBeUndefined();
  }
});
