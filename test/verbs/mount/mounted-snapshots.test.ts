import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { MountedSnapshots } from '../../../src/verbs/mount/mounted-snapshots.ts';
import type { NamedSnapshot, SnapshotDirectory } from '../../../src/verbs/mount/snapshot-names.ts';
import { ViewDirectory } from '../../../src/verbs/mount/view-nodes.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { unlockOfTests } from '../../support/test-password.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function openMounted({ context: { backend } }: TestRepository): Promise<MountedSnapshots> {
  const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
  onTestFinished(async () => repository.close());
  const onFailure = (error: unknown): void => expect.fail(String(error));
  return await MountedSnapshots.open(repository, { place: 'here', onFailure });
}

function idsIn({ entries }: SnapshotDirectory): string[] {
  const named = entries.get('ids' as ByteString) as SnapshotDirectory;
  return [...named.entries.keys()].toSorted();
}

async function backUp(repository: TestRepository, content: string): Promise<string> {
  writeFileSync(join(repository.source, 'file'), content);
  return (await repository.backup()).snapshotId!;
}

/** Makes what was listed old. */
function letTimePass(): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
}

describe('the snapshots of a mount', () => {
  it('are those that there are now, also if as many were made as deleted', async () => {
    const repository = await makeTestRepository();
    const ids = [await backUp(repository, 'one'), await backUp(repository, 'two')];
    const mounted = await openMounted(repository);
    const shown = async (): Promise<string[]> => idsIn(await mounted.names());
    const named = (listed: readonly string[]): string[] => listed.map((id) => id.slice(0, 8)).toSorted();
    expect(await shown()).toEqual(named(ids));
    await deleteSnapshots(repository.context, { selectors: [ids[0]!], reclaim: false });
    const added = await backUp(repository, 'three');
    letTimePass();
    expect(await shown()).toEqual(named([ids[1]!, added]));
  });

  it('are not those whose delete can still be undone', async () => {
    const repository = await makeTestRepository();
    const kept = await backUp(repository, 'kept');
    const selectors = [await backUp(repository, 'deleted')];
    const undoUntil = new Date(Date.now() + 86_400_000).toISOString();
    await deleteSnapshots(repository.context, { selectors, undoUntil });
    const mounted = await openMounted(repository);
    expect(mounted.count).toBe(1);
    expect(idsIn(await mounted.names())).toEqual([kept.slice(0, 8)]);
  });

  it('stay while the place is away, which is asked once', async () => {
    const { context, backup } = await makeTestRepository();
    await backup();
    let isAway = false;
    const options = { failAt: 1, repeat: true, mode: 'error', errno: 'ECONNRESET', only: () => isAway } as const;
    const backend = new FaultyBackend(context.backend, options);
    const failures: unknown[] = [];
    const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
    onTestFinished(async () => repository.close());
    const onFailure = (error: unknown): void => void failures.push(error);
    const mounted = await MountedSnapshots.open(repository, { place: 'here', onFailure });
    const ids = idsIn(await mounted.names());
    letTimePass();
    isAway = true;
    expect(idsIn(await mounted.names())).toEqual(ids);
    expect(backend.operations).toEqual([{ operation: 'list', name: 'snapshots' }]);
    expect(failures).toEqual([expect.objectContaining({ kind: 'transient' })]);
    isAway = false;
  });
});

it('a link in a mount is another file when it leads to another snapshot, and else the same', async () => {
  const [latest, old, fresh] = ['latest', 'old', 'new'] as ByteString[];
  let target = old!;
  const names = async (): Promise<SnapshotDirectory> => ({
    kind: 'directory',
    entries: new Map<ByteString, NamedSnapshot>([[latest!, { kind: 'link', target }]]),
  });
  const openSnapshot = (): never => expect.fail('no snapshot is opened');
  const directory = new ViewDirectory({ uid: 0, gid: 0, mountedSeconds: 0, names, openSnapshot });
  const first = await directory.lookup(latest!);
  expect(first!.linkTarget()).toBe(old);
  expect(await directory.lookup(latest!)).toBe(first);
  target = fresh!;
  const second = await directory.lookup(latest!);
  expect(second!.linkTarget()).toBe(fresh);
  // The old one is forgotten later, which must not concern the new one.
  first!.forgotten();
  expect(await directory.lookup(latest!)).toBe(second);
});
