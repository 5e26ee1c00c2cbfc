import { lstatSync } from 'node:fs';
import { expect, it } from 'vitest';

import { readMetadata } from '../../../../src/core/files/source/source-metadata.ts';
import { statx, STATX_CURRENT_DIRECTORY, STATX_FOLLOW } from '../../../../src/core/files/native/statx.ts';
import { fsPath } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { withoutPackagesHere } from '../../../support/with-packages.ts';
import { everyKind, expectSame } from '../every-kind.ts';

// In a process of its own, in which nothing has loaded koffi yet.
it('reads the same metadata with the calls of Node', () => {
  withoutPackagesHere('koffi');
  expect(statx(STATX_CURRENT_DIRECTORY, '/' as ByteString, STATX_FOLLOW)).toBeUndefined();
  for (const path of everyKind()) expectSame(readMetadata(path), lstatSync(fsPath(path), { bigint: true }));
});
