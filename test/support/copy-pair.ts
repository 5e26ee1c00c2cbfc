import { expect } from 'vitest';

import { copySnapshots } from '../../src/verbs/copy/copy.ts';
import type { CopyOptions, CopyResult } from '../../src/verbs/copy/copy.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { diffTrees } from './compare-trees.ts';
import { TINY_CHUNKS, makeTestRepository } from './test-repository.ts';
import type { TestRepository } from './test-repository.ts';
import { encryption } from './test-password.ts';

/** Two repositories, of which the first is copied to the second. */
export interface CopyPair {
  readonly source: TestRepository;
  readonly destination: TestRepository;
  readonly copy: (options?: Partial<CopyOptions>) => Promise<CopyResult>;
  /** Fails unless every snapshot of the source is in the destination and restores to the same files. */
  readonly expectCopied: () => Promise<void>;
}

/** What the destination has in common with the source, whose chunker is `TINY_CHUNKS`. */
export const DESTINATIONS: ReadonlyMap<string, InitOptions | 'same ids'> = new Map<string, InitOptions | 'same ids'>([
  ['with the same ids and chunker', 'same ids'],
  ['with other ids', { chunker: TINY_CHUNKS }],
  ['with other ids of another hash', { chunker: TINY_CHUNKS, chunkHash: 'sha256' }],
  [
    'with larger chunks',
    { chunker: { kind: 'fastcdc', minSizeBytes: 2000, averageSizeBytes: 8192, maxSizeBytes: 32_768 } },
  ],
  [
    'with smaller chunks',
    { chunker: { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 256, maxSizeBytes: 1000 } },
  ],
  ['with chunks of one size', { chunker: { kind: 'fixed', sizeBytes: 3000 } }],
]);

export async function makeCopyPair(other: InitOptions | 'same ids', own: InitOptions = {}): Promise<CopyPair> {
  const source = await makeTestRepository({ chunker: TINY_CHUNKS, ...own });
  const destination = other === 'same ids' ? await makeTwin(source) : await makeTestRepository(other);
  const copy: CopyPair['copy'] = async (options = {}) =>
    await copySnapshots(source.context, {
      destination: { ...encryption, backend: destination.context.backend },
      ...options,
    });
  return { source, destination, copy, expectCopied: async () => expectCopied(source, destination, await copy()) };
}

/** A new repository with the keys and the parameters of another one. */
async function makeTwin({ context }: TestRepository): Promise<TestRepository> {
  return await makeTestRepository({ copyParametersFrom: { ...encryption, backend: context.backend } });
}

/** `copied`: the result of a copy that had nothing left to do. */
async function expectCopied(source: TestRepository, destination: TestRepository, copied: CopyResult): Promise<void> {
  expect(copied.problems).toEqual([]);
  expect(copied.snapshots.filter(({ added }) => added !== undefined)).toEqual([]);
  for (const { id, copyId } of copied.snapshots) {
    const before = await source.restore({ selector: id });
    const after = await destination.restore({ selector: copyId! });
    expect([...before.problems, ...after.problems]).toEqual([]);
    expect(diffTrees(before.target, after.target, { ignoreRoot: true })).toEqual([]);
  }
  await destination.expectClean();
}
