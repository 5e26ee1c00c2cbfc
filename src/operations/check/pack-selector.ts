import { UsageError } from '../../errors.ts';

/** All packs, or part `part` of `of`. */
export type ReadData = true | { readonly part: number; readonly of: number };

/**
 * Returns whether a pack, by its id, is read completely. The id decides, so a pack stays in its part when others come
 * and go.
 * @throws UsageError
 */
export function packSelector(readData: ReadData | undefined): (packId: string) => boolean {
  if (readData === undefined || readData === true) return () => readData === true;
  const { part, of } = readData;
  if (!Number.isInteger(part) || !Number.isInteger(of) || part < 1 || part > of) {
    throw new UsageError(`part ${part}/${of} does not exist`, { hint: 'Give n/m with 1 <= n <= m, such as 1/7.' });
  }
  return (packId) => Number.parseInt(packId.slice(0, 12), 16) % of === part - 1;
}
