import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { readTargetStats } from '../../core/files/target/target-writer.ts';
import { textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';

/** Returns the names that are not among the others. Both are in byte order. */
export function without(names: readonly ByteString[], others: readonly ByteString[]): ByteString[] {
  let index = 0;
  return names.filter((name) => {
    while (index < others.length && others[index]! < name) index += 1;
    return others[index] !== name;
  });
}

/** Leaves out names of the same file as a name of the snapshot: a file system may not distinguish `A` from `a`. */
export function withoutAlike(
  places: readonly PathNode[],
  names: readonly ByteString[],
  location: DirectoryPath,
): PathNode[] {
  if (places.length === 0) return [];
  const alike = new Map(names.map((name) => [comparable(name), name]));
  const inodeOf = (name: ByteString): bigint | undefined => readTargetStats(location.childPath(name))?.ino;
  return places.filter(({ name }) => {
    const other = alike.get(comparable(name));
    return other === undefined || inodeOf(other) !== inodeOf(name);
  });
}

function comparable(name: ByteString): string {
  return textOf(name).normalize('NFC').toLowerCase();
}
