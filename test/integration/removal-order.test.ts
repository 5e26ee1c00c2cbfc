import { describe, expect, it } from 'vitest';

import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { COMPACT, setStage } from '../support/crash-stage.ts';
import { flip, packsOfKind, setDamageStage, spoil } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { LoggedOperation } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const CONTENT = /^(?:packs|index|snapshots|deleted|manifests\.bak|filter|condemned)\//;

/** What an operation means for invariant 3 of docs/ARCHITECTURE.md. Undefined if it is not a part of it. */
function stepOf({ operation, name }: LoggedOperation): string | undefined {
  const directory = name.split('/')[0]!;
  const target = name.split(' -> ')[1]?.split('/')[0];
  if (operation === 'rename') return target === 'quarantine' ? `set aside ${directory}` : `name ${target}`;
  if (operation === 'list' && name === 'snapshots') return 'list snapshots';
  if (operation === 'syncDirectory') return `sync ${directory}`;
  if (operation === 'create' && directory === 'locks') return name.includes('/condemned-') ? 'mark' : 'new lock';
  if (operation === 'remove' && (directory === 'locks' || CONTENT.test(name))) return `remove ${directory}`;
  return undefined;
}

/** The steps of an operation from the first new name until the condemnation is gone, without repetitions. */
async function stepsOf(
  backend: MemoryBackend,
  run: (context: OperationContext) => Promise<unknown>,
): Promise<{ steps: string[]; operations: readonly LoggedOperation[] }> {
  // Packs have random names: without this, the first pack of a directory would need more steps.
  for (let index = 0; index < 256; index += 1) backend.pokeDirectory(`packs/${index.toString(16).padStart(2, '0')}`);
  const { operations } = await logged(backend, run);
  const all = operations.map(stepOf).filter((step) => step !== undefined);
  const steps = all.slice(
    all.findIndex((step) => step.startsWith('name ')),
    all.lastIndexOf('sync condemned') + 1,
  );
  return { steps: steps.filter((step, index) => step !== steps[index - 1]), operations };
}

async function logged(
  backend: MemoryBackend,
  run: (context: OperationContext) => Promise<unknown>,
): Promise<FaultyBackend> {
  const log = new FaultyBackend(backend);
  await run(simulatedProcess(log));
  return log;
}

/** Fails unless, from the condemnation on, the new lock is verified right before each removal. */
function expectVerified(operations: readonly LoggedOperation[]): void {
  const condemned = operations.findIndex(({ name }) => name.includes(' -> condemned/'));
  const later = operations.slice(condemned + 1);
  const newLock = later.find(({ operation, name }) => operation === 'create' && name.startsWith('locks/'))!.name;
  const isRemoval = ({ operation, name }: LoggedOperation): boolean =>
    (operation === 'remove' && CONTENT.test(name)) || (operation === 'rename' && name.includes(' -> quarantine/'));
  const isCheck = ({ operation, name }: LoggedOperation): boolean =>
    operation === 'sizeOf' && name.startsWith('locks/');
  const relevant = later.filter((each) => isRemoval(each) || isCheck(each));
  const removals = relevant.filter((each) => isRemoval(each));
  expect(removals.length).toBeGreaterThan(3);
  for (const removal of removals)
    expect(relevant[relevant.indexOf(removal) - 1], removal.name).toEqual({ operation: 'sizeOf', name: newLock });
}

const BEGIN = [
  // What other processes have renamed and removed, too.
  ...['filter', 'manifests.bak', 'index', 'deleted', 'snapshots', 'deleted'].map((name) => `sync ${name}`),
  'mark',
  'name condemned',
  'sync condemned',
  'new lock',
  'list snapshots',
  // The old lock.
  'remove locks',
];

describe('a removal has two phases, and each step is durable before the next one', () => {
  it('in a compaction', async () => {
    const { backend } = await setStage(memoryDirectory(), COMPACT);
    const { steps, operations } = await stepsOf(backend, async (context) => compact(context, { maxUnusedPercent: 0 }));
    const created = ['packs', 'index'].flatMap((name) => [`name ${name}`, `sync ${name}`]);
    const removed = ['manifests.bak', 'index', 'packs', 'deleted', 'condemned'];
    expect(steps).toEqual([
      ...created,
      // What other processes have published.
      'sync snapshots',
      'name filter',
      // It begins with a sync of this directory, too.
      ...BEGIN,
      'remove filter',
      'sync filter',
      // The commit record, and then the file with its number.
      ...['name', 'sync', 'name', 'sync', 'remove', 'sync'].map((step) => `${step} index`),
      ...removed.flatMap((name) => [`remove ${name}`, `sync ${name}`]),
    ]);
    expectVerified(operations);
  });

  it('in a repair', async () => {
    const stage = await setDamageStage(memoryDirectory());
    // The largest pack has several blocks, so that there is something to keep. Names are random, thus their order is too.
    const pack = packsOfKind(stage.backend, 'data').reduce((best, each) => {
      return stage.backend.peek(each)!.length > stage.backend.peek(best)!.length ? each : best;
    });
    const backend = await spoil(stage, flip(stage.backend, pack, 60));
    const { steps, operations } = await stepsOf(backend, repair);
    expect(steps).toEqual([
      ...['packs', 'index'].flatMap((name) => [`name ${name}`, `sync ${name}`]),
      ...BEGIN,
      // There are two checkpoints, and a repair removes one at a time.
      ...['filter', 'filter', 'index'].flatMap((name) => [`remove ${name}`, `sync ${name}`]),
      'set aside packs',
      'sync quarantine',
      'sync packs',
      'remove condemned',
      'sync condemned',
    ]);
    expectVerified(operations);
  });
});
