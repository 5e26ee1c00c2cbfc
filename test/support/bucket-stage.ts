import { memoryBucket } from './buckets.ts';
import { fill, makeGrouped } from './grouped-repository.ts';
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

/** The names of the packs in a bucket. */
export function packsIn({ store }: MemoryBucket): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('packs/'));
}
