import { describe, expect, test } from 'vitest';

import { sha256 } from '../../../src/core/crypto/sha256.ts';
import type { AskedAlong } from '../../../src/core/backend/publication.ts';
import { RefusedError } from '../../../src/core/errors.ts';
import { DIRECTORIES, baseName, directoryOf } from '../../../src/core/format/layout.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { changesName } from '../../support/fault-steps.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { PowerCutBackend } from '../../support/power-cut-backend.ts';

const BYTES = Buffer.from('some bytes');
const ID = sha256(BYTES);

type Verify = () => Promise<void>;

interface Step {
  readonly name: string;
  /** What is there before. */
  readonly before?: readonly string[];
  readonly run: (order: DurableOrder, verify: Verify) => Promise<unknown>;
  /** What is there after it, and after it was refused at its first and at its second look at the lock. */
  readonly after: readonly string[];
  readonly refused?: readonly (readonly string[])[];
  /** The same on another machine, unless it is the same there. */
  readonly farRefused?: readonly (readonly string[])[];
}

const isWhole = async (): Promise<boolean> => false;
const CONDEMNED = { segmentIds: [ID], packIds: [], damagedIds: [] };
/** Random names. */
const ANY = '*'.repeat(3);

const STEPS: readonly Step[] = [
  { name: 'publishSegment', run: async (order) => order.publishSegment([]), after: [`index/${ANY}`] },
  {
    name: 'commitSnapshots',
    run: async (order, verify) => order.commitSnapshots([() => BYTES], verify, isWhole),
    after: [`snapshots/${ID}`],
    refused: [[], [`deleted/${ID}`]],
  },
  {
    name: 'copyManifests',
    run: async (order, verify) => order.copyManifests(new Map([[ID, BYTES]]), verify),
    after: [`manifests.bak/${ID}`],
    refused: [[], []],
    farRefused: [[]],
  },
  {
    name: 'publishCheckpoint',
    run: async (order, verify) => order.publishCheckpoint('filter/1', async (append) => append(BYTES), verify),
    after: ['filter/1'],
    refused: [[], []],
  },
  {
    name: 'commitDelete',
    before: [`snapshots/${ID}`],
    run: async (order, verify) => order.commitDelete([[ID]], verify),
    after: [`deleted/${ID}`],
    refused: [[`snapshots/${ID}`]],
  },
  {
    name: 'undoDelete',
    before: [`deleted/${ID}`],
    run: async (order, verify) => order.undoDelete([ID], verify, isWhole),
    after: [`snapshots/${ID}`],
    refused: [[`deleted/${ID}`], [`deleted/${ID}`]],
  },
  {
    name: 'condemn',
    run: async (order, verify) => order.condemn(await order.prepareCondemnation(CONDEMNED), verify),
    after: [`condemned/${ANY}`],
    refused: [[], []],
  },
  {
    name: 'publishFile',
    before: ['keys/a'],
    run: async (order, verify) => order.publishFile('keys/a', BYTES, verify),
    after: ['keys/a'],
    refused: [['keys/a']],
  },
  {
    name: 'publishFile, as a new one',
    run: async (order, verify) => order.publishFile('keys/a', BYTES, verify, true),
    after: ['keys/a'],
    refused: [[]],
  },
  {
    name: 'remove',
    before: ['packs/a', 'packs/b'],
    run: async (order, verify) => order.remove(['packs/a', 'packs/b'], verify),
    after: [],
    refused: [['packs/a', 'packs/b']],
    // Several are removed at once there.
    farRefused: [],
  },
  {
    name: 'removeInTurn',
    before: ['index/a', 'packs/a'],
    run: async (order, verify) => order.removeInTurn([['index/a'], [], ['packs/a']], verify),
    after: [],
    refused: [['index/a', 'packs/a'], ['packs/a']],
  },
  {
    name: 'quarantine',
    before: ['index/a'],
    run: async (order, verify) => order.quarantine('index/a', verify),
    after: ['quarantine/index-a'],
    refused: [['index/a']],
  },
];

/** Another machine, whose requests take effect in their order. What is asked along is asked as soon as that is right. */
class FarDisk extends PowerCutBackend {
  protected override readonly isFar = true;
  override readonly readsAtOnce = 4;

  override async rename(source: string, target: string, along?: AskedAlong): Promise<void> {
    await super.rename(source, target);
    for (const directory of [directoryOf(target), directoryOf(source)]) await this.syncDirectory(directory);
    along?.send();
  }
}

function setDisk({ before = [] }: Step, Disk: typeof PowerCutBackend = PowerCutBackend): PowerCutBackend {
  const disk = new PowerCutBackend();
  for (const directory of DIRECTORIES) disk.pokeDirectory(directory);
  disk.poke('config', BYTES);
  for (const name of before) disk.poke(name, Buffer.from('before'));
  return new Disk(disk.copy());
}

/** All files but the configuration, and marks, which need not be durable, as locks. */
function filesOf(disk: { names(): string[] }): string[] {
  const names = disk.names().filter((name) => name !== 'config' && !name.startsWith('locks/'));
  return names.map((name) => (name.includes(ID) ? name : name.replace(/[0-9a-f]{64}$/, ANY)));
}

const PLACES = [
  { place: 'here', Disk: PowerCutBackend },
  { place: 'on another machine', Disk: FarDisk },
];

describe.each(PLACES)('a step of the order $place', ({ Disk }) => {
  test.each(STEPS)('is durable on return: $name', async (step) => {
    const disk = setDisk(step, Disk);
    await step.run(new DurableOrder(plainPlace(disk)), async () => undefined);
    expect(filesOf(disk)).toEqual(step.after);
    expect(filesOf(disk.cut())).toEqual(step.after);
    const durable = disk.names().filter((name) => !name.startsWith('locks/'));
    for (const name of durable) expect(disk.cut().peek(name), name).toEqual(disk.peek(name));
  });

  const refusals = STEPS.flatMap((step) => {
    const refused = (Disk === FarDisk ? step.farRefused : undefined) ?? step.refused ?? [];
    return refused.map((left, at) => ({ ...step, left, look: at + 1 }));
  });

  test.each(refusals)('leaves what it should when look $look is refused: $name', async (step) => {
    const disk = setDisk(step, Disk);
    let count = 0;
    const running = step.run(new DurableOrder(plainPlace(disk)), async () => {
      count += 1;
      if (count === step.look) throw new RefusedError('the lock is gone');
    });
    await expect(running).rejects.toThrow('the lock is gone');
    expect(count).toBeGreaterThanOrEqual(step.look);
    // What was renamed or removed to undo it is durable, too. A condemnation that was prepared is its owner's to discard.
    expect(filesOf(disk).filter((name) => !name.startsWith('tmp/'))).toEqual(step.left);
    expect(filesOf(disk.cut()).filter((name) => !name.startsWith('tmp/'))).toEqual(step.left);
  });
});

describe('a step of the order', () => {
  const verified = STEPS.filter(({ refused }) => refused !== undefined);

  test.each(verified)('looks at the lock right before each change of a name: $name', async (step) => {
    const backend = new FaultyBackend(setDisk(step));
    const looks: number[] = [];
    await step.run(new DurableOrder(plainPlace(backend)), async () => void looks.push(backend.operations.length));
    const changes = backend.operations.flatMap((each, at) => (changesName(each) ? [at] : []));
    expect(changes.length).toBeGreaterThan(0);
    for (const at of changes) {
      // Nothing but reads may come in between.
      const since = backend.operations.slice(Math.max(...looks.filter((look) => look <= at)), at);
      expect(since.map(({ operation }) => operation).filter((operation) => operation !== 'sizeOf')).toEqual([]);
    }
  });
});

test('a condemnation is written and synced while it has no name, so that a full disk shows', async () => {
  const backend = new FaultyBackend(setDisk(STEPS[0]!));
  await new DurableOrder(plainPlace(backend)).prepareCondemnation(CONDEMNED);
  expect(backend.operations.map(({ operation }) => operation)).toEqual(['create', 'append', 'sync']);
});

test('a delete that fails at its second snapshot makes the first one durable', async () => {
  const other = sha256(Buffer.from('other'));
  const disk = setDisk({ ...STEPS[0]!, before: [`snapshots/${ID}`, `snapshots/${other}`] });
  let count = 0;
  const deleting = new DurableOrder(plainPlace(disk)).commitDelete([[ID], [other]], async () => {
    count += 1;
    if (count === 2) throw new RefusedError('the lock is gone');
  });
  await expect(deleting).rejects.toThrow('the lock is gone');
  expect(filesOf(disk.cut())).toEqual(filesOf(disk));
  expect(filesOf(disk)).toContain(`deleted/${ID}`);
});

test('on another machine, snapshots are deleted side by side, but the manifests of each in their order', async () => {
  const ids = Array.from({ length: 9 }, (_, index) => sha256(Buffer.from(`${index}`)));
  const disk = setDisk({ ...STEPS[0]!, before: ids.map((id) => `snapshots/${id}`) });
  const far = new FarBackend(disk);
  const chains = [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)];
  expect((await new DurableOrder(plainPlace(far)).commitDelete(chains)).toSorted()).toEqual(ids.toSorted());
  expect(far.mostAtOnce).toBe(3);
  for (const chain of chains) {
    expect(far.moved.filter((id) => chain.includes(id))).toEqual(chain);
  }
});

/** Moves take longer the earlier they begin, so that only their callers keep an order. */
class FarBackend extends FaultyBackend {
  override readonly readsAtOnce = 4;
  readonly moved: string[] = [];
  mostAtOnce = 0;
  #running = 0;

  override async move(source: string, target: string): Promise<void> {
    this.#running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
    for (let turn = 40 - this.moved.length; turn > 0; turn -= 1) await Promise.resolve();
    await super.move(source, target);
    this.moved.push(baseName(target));
    this.#running -= 1;
  }
}
