import { memoryBucket } from './buckets.ts';
import { fill, keepGrouped, makeGrouped } from './grouped-repository.ts';
import type { GroupedRepository } from './grouped-repository.ts';

export type MemoryBucket = ReturnType<typeof memoryBucket>;

export interface BucketStage extends GroupedRepository {
  readonly bucket: MemoryBucket;
}

/** A repository whose group `b` is a bucket. */
export async function makeBucketStage(): Promise<BucketStage> {
  const bucket = memoryBucket();
  const repository = await makeGrouped(['a', 'b'], { buckets: { b: bucket } });
  fill(repository, 'one', 1);
  await repository.backup();
  return { ...repository, bucket };
}

/** Gives the stage that `make` makes again and again as it was at first, as `keepGrouped` does. */
export function keepBucketStage(make: () => Promise<BucketStage>): () => Promise<BucketStage> {
  const makeAgain = keepGrouped(make);
  let first: readonly (readonly [string, Buffer])[] | undefined;
  return async () => {
    const stage = await makeAgain();
    const { store } = stage.bucket;
    first ??= [...store.objects].map(([key, bytes]) => [key, Buffer.from(bytes)]);
    store.objects.clear();
    for (const [key, bytes] of first) store.objects.set(key, Buffer.from(bytes));
    stage.mount('b');
    return stage;
  };
}

/** The names of the packs in a bucket. */
export function packsIn({ store }: MemoryBucket): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('packs/'));
}
