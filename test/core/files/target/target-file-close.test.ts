import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { TargetError } from '../../../../src/core/errors.ts';
import { TargetFile } from '../../../../src/core/files/target/target-file.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { NO_ATTRIBUTES } from '../../../../src/core/format/tree/tree-entry.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { replaceCall } from '../../../support/replaced-call.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';

/** Whether closing a file fails, as on a full network file system, where bytes are written late. */
const faults = { close: false, firedCount: 0 };

beforeEach(() => {
  Object.assign(faults, { close: false, firedCount: 0 });
  replaceCall('closeSync', (closeSync) => (descriptor) => {
    closeSync(descriptor);
    if (!faults.close) return;
    faults.firedCount += 1;
    throw Object.assign(new Error('input/output error'), { code: 'EIO' });
  });
});

const none = byteStringFromText('');
const owner = { uid: process.getuid!(), gid: process.getgid!(), user: none, group: none };
const metadata = {
  type: 'file',
  mode: 0o640,
  mtimeSeconds: 1,
  mtimeNanoseconds: 0,
  extensions: [],
  ...owner,
  ...NO_ATTRIBUTES,
} as const;
const bytes = Buffer.from('ours');

/** A file of which some bytes are written, and whose close has failed while another file was being written. */
function makeRested(directory: string): TargetFile {
  const place = { path: byteStringFromText(join(directory, 'name')), replaces: true };
  const file = new TargetFile(place, metadata.mode);
  file.writeAt(0, bytes);
  faults.close = true;
  expect(() => file.rest()).not.toThrow();
  faults.close = false;
  expect(faults.firedCount).toBe(1);
  return file;
}

const USES: Readonly<Record<string, (file: TargetFile) => void>> = {
  writes: (file) => file.writeAt(bytes.length, bytes),
  'gives it its name': (file) => void file.commit(metadata, { policy: createTargetPolicy() }),
};

describe('an error of closing a file for a while', () => {
  it.each(Object.keys(USES))('is thrown by the next use, if that %s, and the old file stays', (name) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'name'), 'old');
    const file = makeRested(directory);
    // It stays so: bytes may be lost, whatever is written after it.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(() => USES[name]!(file)).toThrow(TargetError);
      expect(() => USES[name]!(file)).toThrow(/cannot close .*name: input\/output error/);
    }
    file.abandon();
    expect(readdirSync(directory)).toEqual(['name']);
  });

  it('does not matter for a file that is given up', () => {
    const directory = temporaryDirectory();
    const file = makeRested(directory);
    expect(() => file.abandon()).not.toThrow();
    expect(readdirSync(directory)).toEqual([]);
  });
});
