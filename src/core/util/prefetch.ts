/**
 * Starts `work` on the items in their order, at most `limit` at a time, and yields each item with its result to wait
 * for. With a limit of 1, nothing runs ahead of the loop. However the loop ends, nothing is running afterwards.
 */
export async function* prefetch<T, R>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<readonly [T, Promise<R>]> {
  const running: (readonly [T, Promise<R>])[] = [];
  try {
    for (const item of items) {
      const result = work(item);
      // A failure is for the loop, when it waits for this item.
      result.catch(() => undefined);
      running.push([item, result]);
      if (running.length < limit) continue;
      // It stays in the list meanwhile, because the loop may end without waiting for it.
      yield running[0]!;
      void running.shift();
    }
    for (; running.length > 0; void running.shift()) yield running[0]!;
  } finally {
    await Promise.allSettled(running.map(([, result]) => result));
  }
}
