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
