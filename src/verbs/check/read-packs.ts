import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { encodeChecked, JsonReader, parseChecked } from '../../core/format/json-reader.ts';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';

const VERSION = 1;
/** Of the digest in the name of a pack: enough to prevent another pack with the same digits. */
const PACK_DIGITS = 32;
/** 35 TB in packs of 32 MiB. Those beyond are read again. */
export const PACKS_MAX = 1_000_000;
const MAX_BYTES = 64 * 1024 * 1024;
const PACK = /^[0-9a-f]{32}$/;

interface Place {
  /** Undefined if there is no home directory: then nothing is remembered. */
  readonly directory: string | undefined;
  readonly repositoryId: string;
  /** Where the repository is: a copy at another place may be damaged. */
  readonly location: string;
}

/** Returns whether this machine has read a pack of this repository at this place, and found it sound. */
export function recallReadPacks(place: Place): (packId: string) => boolean {
  const known = new Set(readKnown(place));
  return (packId) => known.has(shortOf(packId));
}

/**
 * Remembers which packs were found sound. What is not in the repository any more is forgotten. Nothing depends on it but
 * which packs are read next time, so a failure is ignored: then they are read again.
 */
export function rememberReadPacks(place: Place, packIds: readonly string[], soundIds: readonly string[]): void {
  const path = pathOf(place);
  if (path === undefined) return;
  const present = new Set(packIds.map(shortOf));
  const sound = new Set([...soundIds.map(shortOf), ...readKnown(place)]);
  const packs = [...sound].filter((id) => present.has(id)).slice(0, PACKS_MAX);
  try {
    makeDirectories(dirname(path), { mode: 0o700 });
    const bytes = encodeChecked({ format_version: VERSION, place: place.location, packs: packs.sort() });
    replaceFile(byteStringFromText(path), bytes, 0o600);
  } catch {
    // A read-only home directory, for example.
  }
}

/** Nothing if the file is missing or damaged. */
function readKnown(place: Place): string[] {
  const path = pathOf(place);
  if (path === undefined) return [];
  try {
    const given = { maxBytes: MAX_BYTES, what: 'list of packs' };
    const reader = new JsonReader(parseChecked(readFileSync(path), given), given.what);
    void reader.integer('format_version', VERSION, VERSION);
    return [...reader.strings('packs', (text) => PACK.test(text))];
  } catch {
    return [];
  }
}

function pathOf({ directory, repositoryId, location }: Place): string | undefined {
  if (directory === undefined) return undefined;
  const end = createHash('sha256').update(location).digest('hex').slice(0, PACK_DIGITS);
  return join(directory, `${repositoryId}-${end}-packs.json`);
}

function shortOf(packId: string): string {
  return packId.slice(0, PACK_DIGITS);
}
