import { randomInt } from 'node:crypto';

/** A share of the size of all packs, or a size. */
export type PartOfData = { readonly percent: number } | { readonly bytes: number };
/** All packs, part `part` of `of`, or random packs of about this share or size. */
export type ReadData = true | { readonly part: number; readonly of: number } | PartOfData;

/**
 * Returns whether a pack, by its id, is read completely. `sizes`: of all packs in question. Of n/m parts, the id decides,
 * so a pack stays in its part when others come and go. A share or a size is reached with packs chosen at random.
 */
export function packSelector(
  readData: ReadData | undefined,
  sizes: ReadonlyMap<string, number>,
): (packId: string) => boolean {
  if (readData === undefined || readData === true) return () => readData === true;
  if ('part' in readData) {
    const { part, of } = readData;
    return (packId) => Number.parseInt(packId.slice(0, 12), 16) % of === part - 1;
  }
  const chosen = choose(sizes, bytesWanted(readData, sizes));
  return (packId) => chosen.has(packId);
}

/** The size of all packs together that a share or a size asks for. */
export function bytesWanted(readData: PartOfData, sizes: ReadonlyMap<string, number>): number {
  const totalBytes = [...sizes.values()].reduce((total, sizeBytes) => total + sizeBytes, 0);
  return 'bytes' in readData ? readData.bytes : (totalBytes * readData.percent) / 100;
}

/** Returns random packs of at least this size together, or all of them. */
function choose(sizes: ReadonlyMap<string, number>, bytesMin: number): Set<string> {
  const ids = [...sizes.keys()];
  const chosen = new Set<string>();
  for (let bytes = 0; bytes < bytesMin && ids.length > 0;) {
    const index = randomInt(ids.length);
    const id = ids[index]!;
    ids[index] = ids.at(-1)!;
    ids.pop();
    chosen.add(id);
    bytes += sizes.get(id)!;
  }
  return chosen;
}
