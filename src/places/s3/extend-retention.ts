import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import { StoreRequests } from '../objects/store-requests.ts';
import { openS3Store } from './open-s3.ts';
import { parseS3Place } from './s3-place.ts';
import type { S3Store } from './s3-store.ts';
import { isRetained, leastMsOf, spanMsOf } from './s3-writes.ts';
import type { S3Retention } from './s3-writes.ts';

/** What was done about the retention of a bucket. */
interface ExtendedRetention {
  readonly objectCount: number;
  readonly extendedCount: number;
}

/**
 * Extends the retention of all that a restore may need in a place, where it would end too early. Packs that no snapshot
 * needs any more are among it until a compaction removes them: the next backup may rely on them again. Needs no lock: what
 * others remove meanwhile is left out, and what they write has a retention from the beginning.
 * @throws BackendError
 */
export async function extendRetention(
  place: string,
  retention: S3Retention,
  retry: RetryOptions,
): Promise<ExtendedRetention> {
  const store = openS3Store(parseS3Place(place), process.env);
  try {
    return await extendIn(store, retention, new StoreRequests(place, retry));
  } finally {
    await store.close();
  }
}

async function extendIn(store: S3Store, retention: S3Retention, requests: StoreRequests): Promise<ExtendedRetention> {
  const listed = await requests.run('list', '', async () => store.list(''));
  const names = listed.map(({ key }) => key).filter(isRetained);
  const nowMs = store.nowMs();
  let extendedCount = 0;
  await mapConcurrently(names, store.requestsAtOnce, async (name) => {
    const found = await requests.run('sizeOf', name, async () => store.retentionOf(name));
    if (found === undefined || (found.untilMs ?? 0) >= nowMs + leastMsOf(retention)) return;
    // Only a special right can change the mode.
    const mode = found.mode ?? retention.mode;
    await requests.run('touch', name, async () => store.retain(name, mode, nowMs + spanMsOf(retention)));
    extendedCount += 1;
  });
  return { objectCount: names.length, extendedCount };
}
