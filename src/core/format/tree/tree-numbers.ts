import { byteStringFromText } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { MAX_U32 } from '../constants.ts';

/** Reading values in the bytes of a tree, without the objects that a reader with a position would need. */

const NO_NAME = byteStringFromText('');
/** The upper half of the largest size that a JavaScript number represents exactly. */
const MAX_UPPER_HALF = 2 ** 21 - 1;

/** Reads a signed 64-bit number of seconds. */
export function readSeconds(tree: Buffer, offset: number): number {
  return tree.readInt32LE(offset + 4) * (MAX_U32 + 1) + tree.readUInt32LE(offset);
}

/** Reads a `u64` that `isSize` accepts, such as the size at the start of a file's content. */
export function readSize(tree: Buffer, offset: number): number {
  return tree.readUInt32LE(offset) + tree.readUInt32LE(offset + 4) * (MAX_U32 + 1);
}

/** Whether a `u64` is below 2^53. */
export function isSize(tree: Buffer, offset: number): boolean {
  return tree.readUInt32LE(offset + 4) <= MAX_UPPER_HALF;
}

/** Like `subarray`, but without creating a Buffer, which takes several times as long. */
export function viewOf(tree: Buffer, start: number, end: number): Uint8Array {
  return new Uint8Array(tree.buffer, tree.byteOffset + start, end - start);
}

/** Returns a name in the bytes of a tree. */
export function textOf(tree: Buffer, start: number, end: number): ByteString {
  return start === end ? NO_NAME : (tree.toString('latin1', start, end) as ByteString);
}
