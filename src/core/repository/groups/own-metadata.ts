import type { ObjectReader } from '../../backend/backend.ts';
import type { BackendFile } from '../../backend/backend.ts';
import { isAbsent, isDamage } from '../../errors.ts';
import { epochOfEnvelope } from '../../crypto/envelope.ts';
import { decodeConfigHead, sealedPartOf } from '../../format/config.ts';
import { MAX_CONFIG_BYTES } from '../../format/constants.ts';
import { parseChecked } from '../../format/json-reader.ts';
import {
  COMMITS_NAME,
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  GROUPS_COPY_NAME,
  GROUPS_NAME,
  HOLDS_DIRECTORY,
  KEYS_DIRECTORY,
  RECOVERIES_NAME,
  isCommitName,
} from '../../format/layout.ts';
import { CHANGEABLE_NAMES } from '../../format/metadata-state.ts';
import { listOptional } from '../own-listing.ts';

/**
 * What groups have copies of, in the order in which it is written: each step is durable before the next, and needs only
 * what is in those before it. What is derived and not needed to find anything, such as checkpoints, has no copies.
 */
const STEPS: readonly (readonly string[])[] = [
  ['packs'],
  ['index', 'condemned', KEYS_DIRECTORY, HOLDS_DIRECTORY],
  ['snapshots', 'deleted'],
  ['manifests.bak'],
];

/** Returns the names in these steps. A commit record comes after the snapshots: one without them says that they are lost. */
export function inCopiedSteps(names: readonly string[]): string[][] {
  const stepOf = (name: string): number =>
    isCommitName(name) ? STEPS.length - 1 : STEPS.findIndex((step) => step.includes(name.split('/')[0]!));
  return STEPS.map((_, index) => names.filter((name) => stepOf(name) === index));
}
/** Directories of which a copy loses what the repository does not have any more: in the order of a removal. */
export const REMOVED_BY_COMPACTION: readonly string[] = [
  'manifests.bak',
  'snapshots',
  'index',
  'packs',
  'deleted',
  'condemned',
  HOLDS_DIRECTORY,
];
/** In the reverse order of writing, for what is listed while others write: see `listRepository`. */
const LISTED = [
  'condemned',
  'manifests.bak',
  'snapshots',
  'deleted',
  'index',
  'packs',
  KEYS_DIRECTORY,
  HOLDS_DIRECTORY,
];
/** Changeable files with a checksum. A damaged one must not take the place of a good copy. */
const CHECKED_NAMES: readonly string[] = [
  CONFIG_NAME,
  CONFIG_COPY_NAME,
  GROUPS_NAME,
  GROUPS_COPY_NAME,
  RECOVERIES_NAME,
];

export type ListedMetadata = ReadonlyMap<string, readonly BackendFile[]>;

/** Lists what groups have copies of, by directory. `own`: the place of the repository, without its groups. */
export async function listMetadata(own: ObjectReader): Promise<ListedMetadata> {
  const listed = new Map<string, readonly BackendFile[]>();
  for (const directory of LISTED) {
    const files = await listOptional(own, directory);
    listed.set(
      directory,
      files.filter(({ name }) => name !== COMMITS_NAME),
    );
  }
  return listed;
}

/** Reads the files whose bytes can change, except for those that are damaged. */
export async function readChangeable(own: ObjectReader): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const name of CHANGEABLE_NAMES) {
    try {
      const bytes = await own.read(name);
      if (CHECKED_NAMES.includes(name)) parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what: name });
      files.set(name, bytes);
    } catch (error) {
      if (!isAbsent(error) && !isDamage(error)) throw error;
    }
  }
  return files;
}

/** Returns the epoch of the newest master key of the configuration among these files; 0 if it is not encrypted or damaged. */
export function epochIn(files: ReadonlyMap<string, Uint8Array>): number {
  const epochs = [CONFIG_NAME, CONFIG_COPY_NAME].map((name) => {
    const bytes = files.get(name);
    try {
      return bytes !== undefined && decodeConfigHead(bytes).isEncrypted ? epochOfEnvelope(sealedPartOf(bytes)) : 0;
    } catch (error) {
      if (!isDamage(error)) throw error;
      return 0;
    }
  });
  return Math.max(...epochs);
}

/** Whether two maps have the same files with the same bytes. */
export function areSameFiles(a: ReadonlyMap<string, Uint8Array>, b: ReadonlyMap<string, Uint8Array>): boolean {
  return (
    a.size === b.size && [...a].every(([name, bytes]) => Buffer.compare(bytes, b.get(name) ?? new Uint8Array(0)) === 0)
  );
}
