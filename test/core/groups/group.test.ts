import { describe, expect, it } from 'vitest';

import type { Backend, StagedFile } from '../../../src/core/backend/backend.ts';
import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { encodeGroupIdentity } from '../../../src/core/format/group-list.ts';
import { Group } from '../../../src/core/groups/group.ts';
import { PackPlacer } from '../../../src/core/groups/pack-placer.ts';
import { MemoryStore, failure } from '../../support/memory-store.ts';

const REPOSITORY = { repositoryId: '1'.repeat(64), location: 'test' };
const PACK = `packs/ab/${'ab'.repeat(32)}`;
const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Stage {
  readonly group: Group;
  readonly store: MemoryStore;
  /** Holds what is about to give a file its name, until the function that it returns is called. */
  readonly hold: () => () => void;
  /** Does the same for barriers. */
  readonly holdBarriers: () => () => void;
  readonly barriers: () => number;
}

/** A group whose steps the test stops where it wants. */
function makeStage(digit = '2'): Stage {
  const store = new MemoryStore();
  const id = digit.repeat(32);
  store.objects.set('group-id', encodeGroupIdentity({ ...REPOSITORY, groupId: id, name: 'a' }));
  const names = makeGate();
  const barrierGate = makeGate();
  let barriers = 0;
  const inner = new ObjectBackend('test', store, { retryForMs: 0 });
  const stage = async (): Promise<StagedFile> => {
    const file = await inner.stage();
    const publish: StagedFile['publish'] = async (name, verify) =>
      file.publish(name, async () => {
        await verify?.();
        await names.open;
      });
    return { ...file, append: async (bytes) => file.append(bytes), publish };
  };
  const barrier = async (): Promise<void> => {
    barriers += 1;
    await barrierGate.open;
    await inner.barrier();
  };
  const backend = new Proxy<Backend>(inner, {
    get: (target, property) => {
      if (property === 'stage') return stage;
      if (property === 'barrier') return barrier;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const entry = { name: 'a', id, place: 'test', weight: 1, state: 'active' } as const;
  const group = new Group(entry, backend, REPOSITORY);
  return { group, store, hold: names.hold, holdBarriers: barrierGate.hold, barriers: () => barriers };
}

function makeGate(): { readonly open: Promise<void>; readonly hold: () => () => void } {
  const gate = {
    open: Promise.resolve(),
    hold: (): (() => void) => {
      let release: () => void = () => undefined;
      gate.open = new Promise<void>((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
  return gate;
}

/** Two groups, a pack that is being written to both, and a barrier that is under way when it is placed. */
async function placeDuringBarrier(beforeItEnds: (stages: readonly Stage[]) => void): Promise<{
  readonly stages: readonly Stage[];
  readonly placer: PackPlacer;
}> {
  const stages = [makeStage('2'), makeStage('3')];
  const groups = stages.map(({ group }) => group);
  const placer = new PackPlacer('test', groups, 2);
  const releases = stages.map(({ hold }) => hold());
  const endBarriers = stages.map(({ holdBarriers }) => holdBarriers());
  const placing = placer.place(PACK, [Buffer.from('x')]);
  await turn();
  const barrier = placer.barrier();
  await turn();
  expect(stages.map(({ barriers }) => barriers())).toEqual([1, 1]);
  for (const release of releases) release();
  expect(await placing).toHaveLength(2);
  beforeItEnds(stages);
  for (const end of endBarriers) end();
  await barrier;
  return { stages, placer };
}

function goAway({ store }: Stage): void {
  store.onRequest = () => {
    throw failure('transient', false);
  };
}

it('a name that appears during a barrier is made durable by the next one', async () => {
  const { group, hold, barriers } = makeStage();
  const release = hold();
  const writing = group.write(PACK, [Buffer.from('x')]);
  await turn();
  await group.barrier();
  expect(barriers()).toBe(1);
  release();
  await writing;
  await group.barrier();
  expect(barriers()).toBe(2);
  await group.barrier();
  expect(barriers()).toBe(2);
});

it('a group that was found offline stays so, although an earlier look ends later', async () => {
  const { group, store } = makeStage();
  let letFirstGo: () => void = () => undefined;
  const firstIsHeld = new Promise<void>((resolve) => {
    letFirstGo = resolve;
  });
  let looks = 0;
  store.onRequest = async (_request, isDone) => {
    if (isDone) return;
    looks += 1;
    if (looks === 1) await firstIsHeld;
    else throw failure('transient', false);
  };
  const first = group.verify();
  expect(await group.verify()).toBe(false);
  letFirstGo();
  expect(await first).toBe(false);
  expect(group.isOnline).toBe(false);
});

describe('a pack that is placed during a barrier', () => {
  it('is not forgotten when its groups fail later', async () => {
    const { stages, placer } = await placeDuringBarrier(() => undefined);
    for (const stage of stages) goAway(stage);
    await expect(placer.barrier()).rejects.toThrow(/is offline before what was written to it was durable/);
  });

  it('does not count as durable in a group that this barrier has given up', async () => {
    const { stages, placer } = await placeDuringBarrier(([first]) => goAway(first!));
    expect(stages.map(({ group }) => group.isOnline)).toEqual([false, true]);
    goAway(stages[1]!);
    await expect(placer.barrier()).rejects.toThrow(/is offline before what was written to it was durable/);
  });
});

it('a pack that was written to a group that a barrier has given up goes to another one', async () => {
  const [first, second] = [makeStage('2'), makeStage('3')];
  const placer = new PackPlacer('test', [first.group, second.group], 1);
  // Whichever is the first for this pack.
  const releases = [first.hold(), second.hold()];
  const placing = placer.place(PACK, [Buffer.from('x')]);
  await turn();
  await turn();
  const isFirst = first.store.requests.length > 1;
  const own = isFirst ? first : second;
  const other = isFirst ? second : first;
  // It goes away after the last look at it, and then the name appears nevertheless.
  own.store.onRequest = (request) => {
    if (request.startsWith('get')) throw failure('transient', false);
  };
  await placer.barrier().catch(() => undefined);
  for (const release of releases) release();
  expect(await placing).toEqual([other.group]);
});

it('a copy in a group that goes offline while the other one is written does not count', async () => {
  const stages = ['2', '3', '4'].map((digit) => makeStage(digit));
  const placer = new PackPlacer(
    'test',
    stages.map(({ group }) => group),
    2,
  );
  const releases = stages.map(({ hold }) => hold());
  const placing = placer.place(PACK, [Buffer.from('x')]);
  for (let count = 0; count < 3; count += 1) await turn();
  // The two that come first for this pack.
  const [gone, ...kept] = stages.toSorted((a, b) => b.store.requests.length - a.store.requests.length);
  releases[stages.indexOf(gone!)]!();
  while (!gone!.store.objects.has(PACK)) await turn();
  goAway(gone!);
  expect(await gone!.group.verify()).toBe(false);
  for (const release of releases) release();
  expect(new Set(await placing)).toEqual(new Set(kept.map(({ group }) => group)));
  expect(placer.shortCount).toBe(0);
});

it('a removal that is not durable fails every later barrier, also without packs that depend on it', async () => {
  const { group, store } = makeStage();
  const placer = new PackPlacer('test', [group], 1);
  await group.write(PACK, [new Uint8Array(10)]);
  await placer.barrier();
  expect(await group.remove(PACK)).toBe(true);
  store.objects.delete('group-id');
  // Twice: the first failure must not make the second barrier succeed.
  await expect(placer.barrier()).rejects.toThrow(/is offline before what was written to it was durable/);
  await expect(placer.barrier()).rejects.toThrow(/is offline before what was written to it was durable/);
});
