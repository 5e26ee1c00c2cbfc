import { vi } from 'vitest';

// One server for all: to start it takes as long as most of what is tested with it.
import './ceph/bucket-policy.ts';
import './ceph/bucket.ts';
import './ceph/groups.ts';
import './ceph/locked-buckets.ts';
import './ceph/wrong-answers.ts';

// So that a few megabytes are many packs. The built program, which runs in processes of its own, has its usual sizes.
vi.mock('../../src/core/store/store-sizes.ts', () => ({
  DEFAULT_STORE_SIZES: { blockRawBytes: 2 ** 18, packBytes: 2 ** 20, segmentBytes: 2 ** 23 },
}));
