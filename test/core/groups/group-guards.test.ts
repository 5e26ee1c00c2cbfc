import { describe, expect, it } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { encodeGroupIdentity } from '../../../src/core/format/group-list.ts';
import { Group } from '../../../src/core/groups/group.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const REPOSITORY = { repositoryId: '1'.repeat(64), location: 'test' };
const PACK = `packs/ab/${'ab'.repeat(32)}`;
const OTHER = `packs/cd/${'cd'.repeat(32)}`;

function makeGroup(capacityBytes?: number): { readonly group: Group; readonly store: MemoryStore } {
  const store = new MemoryStore();
  const id = '2'.repeat(32);
  store.objects.set('group-id', encodeGroupIdentity({ ...REPOSITORY, groupId: id, name: 'a' }));
  const entry = { name: 'a', id, place: 'test', weight: 1, state: 'active', capacityBytes } as const;
  return { store, group: new Group(entry, new ObjectBackend('test', store, { retryForMs: 0 }), REPOSITORY) };
}

describe('a group whose place is that of another disk', () => {
  it('does not say that it lacks a pack', async () => {
    const { group, store } = makeGroup();
    expect(await group.sizeOf(PACK)).toBeUndefined();
    store.objects.delete('group-id');
    await expect(group.sizeOf(PACK)).rejects.toMatchObject({ kind: 'offline' });
  });

  it('gets no pack, though the disk was there when the pack was begun', async () => {
    const { group, store } = makeGroup();
    store.onRequest = (request, isDone) => {
      if (request === 'get group-id' && isDone) store.objects.delete('group-id');
    };
    await expect(group.write(PACK, [Buffer.from('x')])).rejects.toMatchObject({ kind: 'offline' });
    expect([...store.objects.keys()]).toEqual([]);
  });
});

it('a pack that could not be written takes no room in a group', async () => {
  const { group, store } = makeGroup(100);
  const verify = async (): Promise<void> => {
    throw new Error('the lock is lost');
  };
  for (let count = 0; count < 3; count += 1)
    await expect(group.write(PACK, [Buffer.alloc(60)], verify)).rejects.toThrow('the lock is lost');
  await group.write(PACK, [Buffer.alloc(60)]);
  await expect(group.write(OTHER, [Buffer.alloc(60)])).rejects.toMatchObject({ kind: 'full' });
  expect([...store.objects.keys()]).toEqual(['group-id', PACK]);
});
