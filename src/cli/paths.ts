import type { ByteString } from '../util/byte-string.ts';
import { bytesOf, isUtf8, textOf } from '../util/byte-string.ts';

/** A path as JSON fields: `path`, and where that cannot say every byte also `path_b64`. */
export function pathFields(path: ByteString): { path: string; path_b64?: string } {
  if (isUtf8(path)) return { path: textOf(path) };
  return { path: textOf(path), path_b64: bytesOf(path).toString('base64') };
}
