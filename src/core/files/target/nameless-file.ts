import type { ByteString } from '../../util/byte-string.ts';
import { heldPlaceOf } from '../paths/held-directories.ts';
import { nativeCalls } from '../native/native.ts';
import { errnoOf } from '../paths/path-failures.ts';
import { applyMetadata } from './target-metadata.ts';
import type { EntryMetadata } from './target-metadata.ts';
import { setStoringFlags } from './target-attributes.ts';
import { removeIfPossible } from './target-names.ts';
import type { TargetPolicy } from './target-policy.ts';

/** The file system (such as NFS, FAT, /proc) or the kernel has no files without a name. Node calls EOPNOTSUPP ENOTSUP. */
const UNSUPPORTED: ReadonlySet<string> = new Set(['ENOTSUP', 'EISDIR']);

const OWNER_WRITES = 0o200;

/** Set after the first failure of that kind in this thread, so that the other files do not fail first, too. */
let isUnsupported = false;

/**
 * Creates a file that gets its name only when its content and metadata are complete, so a killed process leaves nothing
 * behind. It takes 15 us for a small file; with a temporary name and the calls of Node it takes 25 us.
 *
 * Returns false if that has failed: there is no new file, and the caller writes it under a temporary name to get the
 * error. Returns undefined if there are no such files here.
 */
export function createNamelessFile(
  path: ByteString,
  bytes: Uint8Array,
  metadata: EntryMetadata,
  policy: TargetPolicy,
): boolean | undefined {
  const calls = isUnsupported ? undefined : nativeCalls()?.file;
  const place = heldPlaceOf(path);
  if (calls === undefined || place === undefined) return undefined;
  let descriptor: number;
  try {
    // Setting attributes needs the permission to write, even through a descriptor.
    const mode = (metadata.mode & 0o777) | (metadata.xattrs.length > 0 ? OWNER_WRITES : 0);
    descriptor = calls.createNameless(place.descriptor, mode);
  } catch (error) {
    isUnsupported = UNSUPPORTED.has(errnoOf(error) ?? '');
    return isUnsupported ? undefined : false;
  }
  const isNamed = attempt(() => {
    setStoringFlags(descriptor, metadata.inodeFlags, policy.attributes);
    const isWhole = bytes.length === 0 || calls.write(descriptor, bytes) === bytes.length;
    const failure = isWhole ? applyMetadata(descriptor, metadata, { path, policy }) : undefined;
    if (isWhole && failure === undefined) calls.giveName(descriptor, place.descriptor, place.name);
    return isWhole && failure === undefined;
  });
  const isClosed = attempt(() => {
    calls.close(descriptor);
    return true;
  });
  if (isNamed && !isClosed) removeIfPossible(() => path);
  return isNamed && isClosed;
}

function attempt(action: () => boolean): boolean {
  try {
    return action();
  } catch {
    // The caller gets the error; see above.
    return false;
  }
}
