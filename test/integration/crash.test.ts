import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository, repositoryExists } from '../../src/core/creating/init.ts';
import { examineAftermath, partsAt } from '../support/aftermath.ts';
import { describeTree } from '../support/compare-trees.ts';
import { ACTS, BACKUP, COMPACT, FIRST_BACKUP, SMALL_INIT, backupWork, setStage } from '../support/crash-stage.ts';
import type { Act, Stage } from '../support/crash-stage.ts';
import { FaultyStore, diskStore, storeBackend } from '../support/disk-store.ts';
import type { Faulty } from '../support/disk-store.ts';
import { changesIn } from '../support/fault-steps.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { FaultOptions } from '../support/faulty-backend.ts';
import {
  AftermathMemory,
  InterruptionLoop,
  endingOf,
  expectationOf,
  judgeEnding,
  runInterrupted,
} from '../support/interruption.ts';
import { LateFailure } from '../support/late-failure.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { copyToDirectory } from '../support/memory-copy.ts';
import { PowerCutBackend } from '../support/power-cut-backend.ts';
import { createPrng } from '../support/prng.ts';
import { RepeatableRuns } from '../support/repeatable-runs.ts';
import { sftpBackend, sftpProblem } from '../support/sftp-server.ts';
import { SMALL_SIZES, simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory, memoryDirectory, removeTree, temporaryDirectory } from '../support/temp-directory.ts';
import { threadsOfTests } from '../support/test-threads.ts';

const LOOP_TIMEOUT_MS = 3_600_000;
/** Packs have random names. Two runs differ in so many operations, since packs may share a directory. */
const UNREPEATABLE = 6;

/** A repository where the act of a stage is interrupted. */
interface Place {
  readonly faulty: Faulty;
  /** What fails, and the same repository as others see it afterwards. */
  readonly backend: Backend;
  readonly sound: Backend;
}

const PLACES: readonly {
  readonly name: string;
  readonly problem: string | undefined;
  /** How many operations are interrupted, and in which acts. In the suite, two places share them. */
  readonly roundCount: number;
  readonly acts: readonly Act[];
  readonly open: (stage: Stage, fault: FaultOptions) => Place;
}[] = [
  {
    name: 'a real directory',
    problem: undefined,
    roundCount: inSoak(60, 2),
    acts: ACTS.filter((_act, index) => inSoak(true, index % 2 === 0)),
    open: onDisk((path) => new LocalBackend(path)),
  },
  {
    name: 'a directory of an SFTP server',
    problem: sftpProblem,
    roundCount: inSoak(60, 2),
    acts: ACTS.filter((_act, index) => inSoak(true, index % 2 === 1)),
    open: onDisk((path) => sftpBackend(path)),
  },
  {
    name: 'a store of objects',
    problem: undefined,
    roundCount: inSoak(1000, 2),
    acts: ACTS,
    open: (stage, fault) => {
      const disk = stage.backend.copy();
      const faulty = new FaultyStore(disk, fault);
      return { faulty, backend: faulty.backend, sound: storeBackend(diskStore(disk)) };
    },
  },
];

describe('a repository is sound, with no step to mend it, after', () => {
  it.each(ACTS)(
    '$name that meets an error, or dies, at any operation',
    async (act) => {
      const loop = new InterruptionLoop({ stage: await stageOf(act), act });
      const error = await loop.run({ mode: 'error' });
      const crash = await loop.run({ mode: 'crash', torn: true });
      expect({ error: error.failures, crash: crash.failures }).toEqual({ error: [], crash: [] });
      // The loops ended because the act ran through, and every fault before that was met.
      expect(Math.min(error.firedCount, crash.firedCount)).toBeGreaterThan(inSoak(20, 4));
    },
    LOOP_TIMEOUT_MS,
  );

  it('a crash of a compaction that follows on the crash of another', async () => {
    const stage = await setStageOfCrashedCompaction();
    const { failures, firedCount } = await new InterruptionLoop({ stage, act: COMPACT }).run({ mode: 'crash' });
    expect(failures).toEqual([]);
    expect(firedCount).toBeGreaterThan(inSoak(30, 8));
  });

  describe.each(PLACES)('in $name, and with threads,', ({ problem, open, roundCount, acts }) => {
    beforeEach(({ skip }) => skip(problem !== undefined, problem));

    it.each(acts)('$name', async (act) => {
      const [threads, stage] = [threadsOfTests(), await stageOf(act)];
      threads.prepare();
      const whole = open(stage, {});
      await endingOf(act, { ...simulatedProcess(whole.backend), threads }, stage);
      await whole.sound.close();
      const numbers = changesIn(whole.faulty.operations.slice(0, -UNREPEATABLE));
      expect(numbers.length).toBeGreaterThan(inSoak(14, 0));
      const step = Math.ceil(numbers.length / roundCount);
      // From an offset and with a fault of its own for each act, so that they differ in what is interrupted, and how.
      const index = ACTS.indexOf(act);
      for (let at = (3 * index + 1) % step, round = index >> 1; at < numbers.length; at += step, round += 1) {
        const fault = { failAt: numbers[at]!, mode: round % 2 === 0 ? 'crash' : 'error', torn: round % 4 < 2 } as const;
        const { faulty, backend, sound } = open(stage, fault);
        const ending = await endingOf(act, { ...simulatedProcess(backend), threads }, stage);
        faulty.assertFired();
        const failures = judgeEnding({ fault }, faulty, ending);
        const parts = partsAt(index + round);
        failures.push(...(await examineAftermath(sound, stage, expectationOf({ act, stage }, ending), parts)));
        expect(failures, `operation ${numbers[at]}`).toEqual([]);
        await sound.close();
      }
    });
  });
});

describe('an interrupted init', () => {
  const KINDS = ['error', 'crash', 'power cut'] as const;

  it.each(KINDS)('can be begun again, at any operation (%s)', async (kind) => {
    const stage = await setStage(memoryDirectory(), FIRST_BACKUP);
    const memory = new AftermathMemory(stage);
    const [firstRuns, secondRuns] = [new RepeatableRuns(), new RepeatableRuns()];
    // In the suite, each kind of interruption has operations of its own.
    for (let failAt = inSoak(1, 1 + 2 * KINDS.indexOf(kind)), round = 0; ; failAt += inSoak(1, 6), round += 1) {
      const disk = new PowerCutBackend();
      const faulty = new FaultyBackend(disk, { mode: kind === 'error' ? 'error' : 'crash', torn: true, failAt });
      const init = async (on: FileSystemBackend): Promise<unknown> => initRepository(simulatedProcess(on), SMALL_INIT);
      await firstRuns.run(async () => init(faulty).catch(() => undefined));
      const backend = kind === 'power cut' ? disk.cut(round % 4) : disk;
      if (!(await repositoryExists(backend))) await secondRuns.run(async () => init(backend));
      const failures = await memory.examine(backend, { present: [], absent: [] });
      expect(failures, `operation ${failAt}`).toEqual([]);
      if (!faulty.fired) return expect(failAt).toBeGreaterThan(30);
    }
  });
});

describe('an interrupted backup', () => {
  it.each(['error', 'crash'] as const)('does not store again what reached durable segments (%s)', async (mode) => {
    const stage = await setLargeStage();
    const fault = { mode, only: isRenameTo('snapshots/'), failAt: 1 };
    const { faulty, ending } = await runInterrupted({ stage, act: FIRST_BACKUP, fault, backend: stage.backend });
    faulty.assertFired();
    expect(ending.succeeded).toBe(false);
    expect(namesIn(stage.backend, 'index/').length).toBeGreaterThan(3);
    const { summary } = await backupWork(simulatedProcess(stage.backend), stage.work);
    expect(summary).toMatchObject({ dataBlobs: 0, treeBlobs: 0, dataAdded: 0, filesNew: 6 });
  });

  it('stores again only what came after the last durable segment', async () => {
    const stage = await setLargeStage();
    const whole = await backupWork(simulatedProcess(stage.backend.copy()), stage.work);
    const fault = { mode: 'crash', only: isRenameTo('index/'), failAt: 3 } as const;
    const { faulty } = await runInterrupted({ stage, act: FIRST_BACKUP, fault, backend: stage.backend });
    faulty.assertFired();
    const { summary } = await backupWork(simulatedProcess(stage.backend), stage.work);
    const savedBytes = whole.summary.dataAdded - summary.dataAdded;
    expect(savedBytes).toBeGreaterThan(2 * SMALL_SIZES.segmentBytes * 0.9);
    expect(await examineAftermath(stage.backend, stage, { present: [], absent: [] })).toEqual([]);
  });

  it.each(['rename', 'syncDirectory'] as const)('takes nothing away from another one of the same (%s)', async (at) => {
    const stage = await setStage(memoryDirectory(), FIRST_BACKUP);
    const late = new LateFailure(stage.backend, at, async () => {
      await backupWork(simulatedProcess(stage.backend), stage.work);
    });
    await expect(backupWork(simulatedProcess(late), stage.work)).rejects.toMatchObject({ errno: 'EIO' });
    late.assertFired();
    expect(await examineAftermath(stage.backend, stage, { present: [], absent: [] })).toEqual([]);
  });

  it('can be a dry run that fails, which changes nothing', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const before = namesIn(stage.backend, '');
    const only = (operation: string): boolean => operation === 'readRange';
    const faulty = new FaultyBackend(stage.backend, { only, failAt: 5, errno: 'EROFS' });
    const options = { sources: [stage.work], cwd: '/', dryRun: true, hostname: 'stage' };
    await expect(backup(simulatedProcess(faulty), options)).rejects.toMatchObject({ errno: 'EROFS' });
    faulty.assertFired();
    expect(namesIn(stage.backend, '')).toEqual(before);
  });
});

const stagesDirectory = makeTemporaryDirectory();
afterAll(() => removeTree(stagesDirectory));

const knownStages = new Map<Act, Promise<Stage>>();

/** The stage of an act, made once: its repository is only ever copied. */
async function stageOf(act: Act): Promise<Stage> {
  const known = knownStages.get(act) ?? setStage(join(stagesDirectory, act.name), act);
  knownStages.set(act, known);
  return await known;
}

/** Opens a copy of a stage's repository in a directory of its own. */
function onDisk(openAt: (path: string) => FileSystemBackend): (stage: Stage, fault: FaultOptions) => Place {
  return (stage, fault) => {
    const path = temporaryDirectory();
    copyToDirectory(stage.backend, path);
    const sound = openAt(path);
    const backend = new FaultyBackend(sound, fault);
    return { faulty: backend, backend, sound };
  };
}

/** A compaction has crashed when it published its second pack; one in thirty, by its random key, publishes only one. */
async function setStageOfCrashedCompaction(): Promise<Stage> {
  const fault = { mode: 'crash', only: isRenameTo('packs/'), failAt: 2 } as const;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const stage = await setStage(memoryDirectory(), COMPACT);
    const { faulty } = await runInterrupted({ stage, act: COMPACT, fault, backend: stage.backend });
    if (faulty.fired) return stage;
  }
  throw new Error('no compaction publishes two packs');
}

/** With enough in it for several segments. */
async function setLargeStage(): Promise<Stage> {
  const stage = await setStage(memoryDirectory(), FIRST_BACKUP);
  writeFileSync(join(stage.work, 'large'), createPrng(2).bytes(200_000));
  return { ...stage, workTree: describeTree(stage.work) };
}

function isRenameTo(directory: string): (operation: string, name: string) => boolean {
  return (operation, name) => operation === 'rename' && name.includes(` -> ${directory}`);
}

const namesIn = (backend: MemoryBackend, directory: string): string[] =>
  backend.names().filter((name) => name.startsWith(directory));
