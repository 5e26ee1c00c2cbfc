/**
 * Runs `work` on every item, at most `limit` at a time. After the first failure it starts no more items, waits for the
 * running ones, and throws.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let nextIndex = 0;
  const run = async (): Promise<void> => {
    while (nextIndex < items.length) {
      const index = nextIndex;
      nextIndex += 1;
      try {
        results[index] = await work(items[index]!, index);
      } catch (error) {
        nextIndex = items.length;
        throw error;
      }
    }
  };
  const runs = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, run));
  for (const outcome of runs) if (outcome.status === 'rejected') throw outcome.reason;
  return results;
}

/** Waits for both, also if one fails: nothing is running afterwards. */
export async function bothOf<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

/** Runs `work` on groups of items: on all of a group at once, and on each group after the one before it. */
export function eachInTurn<T, R>(groups: readonly (readonly T[])[], work: (item: T) => Promise<R>): Promise<R>[] {
  let before: Promise<unknown> | undefined;
  return groups.flatMap((group) => {
    const start = before;
    const results = group.map(async (item) => {
      if (start !== undefined) await start;
      return await work(item);
    });
    before = Promise.allSettled(results);
    return results;
  });
}
