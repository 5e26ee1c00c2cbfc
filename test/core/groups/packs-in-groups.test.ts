import { expect, test } from 'vitest';

import type { BackendError } from '../../../src/core/errors.ts';
import { encodeGroupIdentity } from '../../../src/core/format/group-list.ts';
import { packCopyName } from '../../../src/core/format/layout.ts';
import { Group } from '../../../src/core/groups/group.ts';
import { PackPlacer } from '../../../src/core/groups/pack-placer.ts';
import { PacksInGroups } from '../../../src/core/groups/packs-in-groups.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';

const REPOSITORY = { repositoryId: '1'.repeat(64), location: 'test' };
const PACK = `packs/ab/${'ab'.repeat(32)}`;
const IDENTITY = 'group-id';

/** Groups with these contents of the pack. */
function groupsWith(contents: readonly (string | undefined)[]): { packs: PacksInGroups; disks: MemoryBackend[] } {
  const disks = contents.map(() => new MemoryBackend());
  const groups = contents.map((content, index) => {
    const id = String(index + 2).repeat(32);
    const disk = disks[index]!;
    disk.poke(IDENTITY, encodeGroupIdentity({ ...REPOSITORY, groupId: id, name: 'a' }));
    disk.pokeDirectory('packs');
    if (content !== undefined) disk.poke(PACK, Buffer.from(content));
    return new Group({ name: 'a', id, place: 'test', weight: 1, state: 'active' }, disk, REPOSITORY);
  });
  const metadata = new MemoryBackend();
  metadata.pokeDirectory('packs');
  return { packs: new PacksInGroups(metadata, groups, new PackPlacer('test', groups, 2)), disks };
}

test.each([
  ['first', ['whole pack', 'whole']],
  ['last', ['whole', 'whole pack']],
])('of several copies, the longest one counts and is read (the %s)', async (_, contents) => {
  const { packs } = groupsWith(contents);
  expect(await packs.list()).toMatchObject([{ name: PACK, sizeBytes: 10, copyBytes: 5 }]);
  const bytes = await packs.reading(PACK, async (backend, name) => backend.read(name));
  expect(Buffer.from(bytes).toString()).toBe('whole pack');
});

test('when a pack was written is not known once a copy of it has been moved', async () => {
  const { packs, disks } = groupsWith(['pack', undefined]);
  const writtenMs = (await packs.list())[0]!.modifiedMs;
  expect(writtenMs).toBeGreaterThan(0);
  disks[1]!.poke(packCopyName('ab'.repeat(32), 1), Buffer.from('pack'));
  expect((await packs.list())[0]).toMatchObject({ copyBytes: 4, modifiedMs: undefined });
});

test.each([
  ['is only in a group that is offline', [undefined, 'pack'], 'offline'],
  ['is also in a group that is offline', ['pack', 'pack'], true],
])('the removal of a pack that %s: %j', async (_what, contents, outcome) => {
  const { packs, disks } = groupsWith(contents);
  // As if its disk was not mounted.
  await disks[1]!.unlink(IDENTITY);
  expect(await packs.remove(PACK).catch((error: unknown) => (error as BackendError).kind)).toBe(outcome);
});

test('a pack that is in no group was not removed', async () => {
  const { packs } = groupsWith([undefined, undefined]);
  expect(await packs.remove(PACK)).toBe(false);
});
