import { packName, parsePackCopyName } from '../format/layout.ts';
import type { BackendFile } from '../backend/backend.ts';
import type { PackHome } from './pack-home.ts';

/** A file with a pack. A copy that is made by a move has a larger generation than all copies that there are. */
export interface PackCopy {
  readonly home: PackHome;
  /** Its name in its home. */
  readonly name: string;
  readonly generation: number;
  readonly sizeBytes: number;
  /** When the pack was written. Undefined if it is not known: a copy that a move has made is newer. */
  readonly writtenMs?: number | undefined;
}

/** Orders copies of a pack in descending order of rank: by generation, then by the id of the group, then by name. */
export function compareRanks(a: PackCopy, b: PackCopy): number {
  if (a.home.id === b.home.id) return b.generation - a.generation || (a.name < b.name ? 1 : -1);
  return b.generation - a.generation || (a.home.id < b.home.id ? 1 : -1);
}

/** Returns the name of the pack, and the file as a copy of it. Other files are copies under their own names. */
export function copyFrom(home: PackHome, { name, sizeBytes, modifiedMs }: BackendFile): readonly [string, PackCopy] {
  const { generation = 0 } = (home.isGroup ? parsePackCopyName(name) : undefined) ?? {};
  const writtenMs = generation === 0 ? modifiedMs : undefined;
  return [home.isGroup ? packNameOf(name) : name, { home, name, generation, sizeBytes, writtenMs }];
}

/** The name of the pack that a file is a copy of. */
export function packNameOf(name: string): string {
  const parsed = parsePackCopyName(name);
  return parsed === undefined ? name : packName(parsed.id);
}

/** A pack in a listing. `copies`: the best one first. */
export function listedPack(name: string, copies: readonly PackCopy[]): BackendFile {
  const [best, ...others] = copies;
  const { sizeBytes } = best!;
  const times = copies.map(({ writtenMs }) => writtenMs).filter((timeMs) => timeMs !== undefined);
  const modifiedMs = times.length === copies.length ? Math.max(...times) : undefined;
  if (others.length === 0) return { name, sizeBytes, modifiedMs };
  return { name, sizeBytes, modifiedMs, copyBytes: others.reduce((total, copy) => total + copy.sizeBytes, 0) };
}
