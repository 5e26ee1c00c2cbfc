import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';

const NO_NAME = byteStringFromText('');

/** An entry as restore has it, with our own owner, so that nothing needs privileges unless a test says so. */
export function sampleEntry(fields: Partial<TreeEntry> = {}): TreeEntry {
  return {
    name: byteStringFromText('entry'),
    type: 'file',
    mode: 0o640,
    uid: process.geteuid!(),
    gid: process.getegid!(),
    user: NO_NAME,
    group: NO_NAME,
    mtimeSeconds: 1_234_567_890,
    mtimeNanoseconds: 123_456_789,
    ctimeSeconds: 0,
    ctimeNanoseconds: 0,
    inode: 1n,
    sizeBytes: 0,
    chunkIds: new Uint8Array(0),
    treeId: undefined,
    linkTarget: NO_NAME,
    deviceMajor: 0,
    deviceMinor: 0,
    hardlink: undefined,
    changedWhileRead: false,
    ...NO_ATTRIBUTES,
    extensions: [],
    ...fields,
  };
}

/** A name from bytes and texts, such as `bytes(0xff, '/file')`. Texts are written as UTF-8, so no other name may be a part. */
export function bytes(...parts: readonly (number | string)[]): ByteString {
  const buffers = parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part, 'utf8')));
  return byteStringFromBytes(Buffer.concat(buffers));
}
