import { closeSync, lstatSync, openSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { SourceMetadata } from '../../../../src/core/files/source/status-fields.ts';
import {
  STATX_CURRENT_DIRECTORY,
  STATX_FOLLOW,
  STATX_NO_FOLLOW,
  STATX_OPEN_FILE,
  statx,
} from '../../../../src/core/files/native/statx.ts';
import { fsPath } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { everyKind, expectSame } from '../every-kind.ts';

function look(path: ByteString): SourceMetadata | undefined {
  return statx(STATX_CURRENT_DIRECTORY, path, STATX_NO_FOLLOW);
}

describe.runIf(process.platform === 'linux')('statx', () => {
  it('says what Node says, of every kind of entry', () => {
    for (const path of everyKind()) expectSame(look(path), lstatSync(fsPath(path), { bigint: true }));
  });

  it('says what Node says of the programs and devices here', () => {
    const programs = readdirSync('/usr/bin').map((name) => join('/usr/bin', name));
    for (const path of [...programs, '/dev/null', '/dev/zero', '/dev/full', '/proc', '/']) {
      expectSame(look(path as ByteString), lstatSync(path, { bigint: true }));
    }
  });

  it('follows a symlink only when asked, and looks at an open file', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '123');
    symlinkSync('file', join(directory, 'link'));
    const link = join(directory, 'link') as ByteString;
    expectSame(look(link), lstatSync(link, { bigint: true }));
    expectSame(statx(STATX_CURRENT_DIRECTORY, link, STATX_FOLLOW), statSync(link, { bigint: true }));
    const descriptor = openSync(link, 'r');
    onTestFinished(() => closeSync(descriptor));
    expectSame(statx(descriptor, '' as ByteString, STATX_OPEN_FILE), statSync(link, { bigint: true }));
  });

  it('gives no answer where there is none, so that who asked Node gets its error', () => {
    expect(look(join(temporaryDirectory(), 'nothing') as ByteString)).toBeUndefined();
    expect(look('/dev/null/below' as ByteString)).toBeUndefined();
    expect(look('x'.repeat(5000) as ByteString)).toBeUndefined();
    expect(statx(1_000_000, '' as ByteString, STATX_OPEN_FILE)).toBeUndefined();
  });
});
