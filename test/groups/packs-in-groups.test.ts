import { expect, test } from 'vitest';

import { ObjectBackend } from '../../src/backend/objects/object-backend.ts';
import { encodeGroupIdentity } from '../../src/format/group-list.ts';
import { Group } from '../../src/groups/group.ts';
import { PackPlacer } from '../../src/groups/pack-placer.ts';
import { PacksInGroups } from '../../src/groups/packs-in-groups.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { MemoryStore } from '../support/memory-store.ts';

const REPOSITORY = { repositoryId: '1'.repeat(64), location: 'test' };
const PACK = `packs/ab/${'ab'.repeat(32)}`;

/** A group for each of these contents of the pack. */
function groupsWith(contents: readonly string[]): PacksInGroups {
  const groups = contents.map((content, index) => {
    const id = String(index + 2).repeat(32);
    const objects = new Map([
      ['group-id', Buffer.from(encodeGroupIdentity({ ...REPOSITORY, groupId: id, name: 'a' }))],
      [PACK, Buffer.from(content)],
    ]);
    const entry = { name: 'a', id, place: 'test', weight: 1, state: 'active' } as const;
    return new Group(entry, new ObjectBackend('test', new MemoryStore(objects), { retryForMs: 0 }), REPOSITORY);
  });
  const metadata = new MemoryBackend();
  metadata.pokeDirectory('packs');
  return new PacksInGroups(metadata, groups, new PackPlacer('test', groups, 2));
}

test.each([
  ['first', ['whole pack', 'whole']],
  ['last', ['whole', 'whole pack']],
])('of several copies, the longest one counts and is read (the %s)', async (_, contents) => {
  const packs = groupsWith(contents);
  expect(await packs.list()).toEqual([{ name: PACK, sizeBytes: 10, copyBytes: 5 }]);
  const bytes = await packs.reading(PACK, async (backend, name) => backend.read(name));
  expect(Buffer.from(bytes).toString()).toBe('whole pack');
});
