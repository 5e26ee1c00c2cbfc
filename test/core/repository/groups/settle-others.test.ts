import { describe, expect, test } from 'vitest';

import { sha256 } from '../../../../src/core/crypto/sha256.ts';
import { checkpointName } from '../../../../src/core/format/checkpoint-name.ts';
import { DIRECTORIES, manifestCopyName, segmentName, snapshotName } from '../../../../src/core/format/layout.ts';
import { DurableOrder } from '../../../../src/core/repository/durable-order.ts';
import { FaultyBackend, SimulatedCrash } from '../../../support/faulty-backend.ts';
import { plainPlace } from '../../../support/plain-place.ts';
import { PowerCutBackend } from '../../../support/power-cut-backend.ts';

// A process that died before it synced a directory has left names that others see and that a power cut takes away.

const BYTES = Buffer.from('some bytes');
const ID = sha256(BYTES);
const [ADDED, REMOVED, DELETED, RESTORED] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64));
const MOVES = [
  [`snapshots/${DELETED}`, `deleted/${DELETED}`],
  [`deleted/${RESTORED}`, `snapshots/${RESTORED}`],
] as const;
const CONDEMNED = { segmentIds: [ID], packIds: [], damagedIds: [] };
const ALL = ['filter', 'manifests.bak', 'index', 'deleted', 'snapshots'];

const verify = async (): Promise<void> => undefined;
const mayStay = async (): Promise<boolean> => false;

interface Step {
  readonly name: string;
  /** Where the other process has changed names that this step relies on. */
  readonly directories: readonly string[];
  readonly run: (order: DurableOrder) => Promise<unknown>;
}

const CHANGES: readonly Step[] = [
  {
    name: 'commits a snapshot',
    directories: ['index'],
    run: async (order) => order.commitSnapshots([() => BYTES], verify, mayStay),
  },
  {
    name: 'writes a checkpoint',
    directories: ['index', 'snapshots'],
    run: async (order) => order.publishCheckpoint(checkpointName(1), async (append) => append(BYTES), verify),
  },
  {
    name: 'deletes a manifest that others have replaced',
    directories: ['index', 'snapshots'],
    run: async (order) => order.commitDelete([[ID]], verify, true),
  },
  {
    name: 'condemns something',
    directories: ALL,
    run: async (order) => order.condemn(await order.prepareCondemnation(CONDEMNED), verify),
  },
  {
    name: 'removes copies of manifests, and condemns nothing',
    directories: ALL,
    run: async (order) => {
      await order.condemn(undefined, verify);
      await order.remove([manifestCopyName(ID)], verify);
    },
  },
];

/** In each directory, a name that was added and one that was removed. A delete and an undelete have moved names. */
async function diskOfDeadProcess(directories: readonly string[]): Promise<PowerCutBackend> {
  const disk = new PowerCutBackend();
  for (const directory of DIRECTORIES) disk.pokeDirectory(directory);
  for (const name of ['config', snapshotName(ID), manifestCopyName(ID), segmentName(ID)]) disk.poke(name, BYTES);
  for (const directory of directories) disk.poke(`${directory}/${REMOVED}`, BYTES);
  const moves = directories.includes('deleted') ? MOVES : [];
  for (const [source] of moves) disk.poke(source, BYTES);
  for (const [at, directory] of directories.entries()) {
    const writer = await disk.create(`tmp/${at}`);
    await writer.sync();
    await disk.rename(`tmp/${at}`, `${directory}/${ADDED}`);
    await disk.unlink(`${directory}/${REMOVED}`);
  }
  for (const [source, target] of moves) await disk.rename(source, target);
  return disk;
}

function filesOf(disk: { names(): string[] }): string[] {
  return disk.names().filter((name) => !/^(?:tmp|locks)\//.test(name));
}

describe('what a process that died has not synced', () => {
  test.each(CHANGES)('is durable before the next one $name', async ({ directories, run }) => {
    const disk = await diskOfDeadProcess(directories);
    expect(filesOf(disk.cut())).not.toEqual(filesOf(disk));
    const only = (operation: string): boolean => operation === 'rename' || operation === 'remove';
    const backend = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only });
    await expect(run(new DurableOrder(plainPlace(backend)))).rejects.toThrow(SimulatedCrash);
    expect(filesOf(disk.cut())).toEqual(filesOf(disk));
  });
});
