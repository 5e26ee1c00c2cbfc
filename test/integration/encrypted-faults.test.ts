import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { isCommitName } from '../../src/core/format/layout.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { unlock } from '../../src/core/repository/keys/key-files.ts';
import { deleted, flipped, importantNames, judge, put, swapped, truncated } from '../support/encrypted-faults.ts';
import type { Fault } from '../support/encrypted-faults.ts';
import { STAGE_PASSWORD, contextOf, setEncryptedStage } from '../support/encrypted-stage.ts';
import type { EncryptedStage } from '../support/encrypted-stage.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { withTemporaryDirectory } from '../support/temp-directory.ts';

/**
 * Whoever can write to the storage changes an encrypted repository: each fault must be reported by a check that reads
 * everything, and no restore may give anything else than what was backed up without saying so. The faults that a check
 * cannot see, because such a repository is a valid one, are listed.
 */

let stage: EncryptedStage;
/** Another repository with the same password. */
let other: EncryptedStage;
/** The stage after each of its backups. */
const states: MemoryBackend[] = [];
let names: readonly string[];

beforeAll(async () => {
  await withTemporaryDirectory(async (directory) => {
    for (const name of ['one', 'two']) mkdirSync(join(directory, name));
    stage = await setEncryptedStage(join(directory, 'one'), { states });
    other = await setEncryptedStage(join(directory, 'two'), { seed: 2 });
  });
  names = importantNames(stage.backend);
});

const HOURS_MS = 24 * 3_600_000;

/** Judges faults. `silent`: the names of exactly those that a check does not see, and that cost nothing. */
async function expectReported(
  faults: readonly Fault[],
  silent: (file: string) => boolean = () => false,
): Promise<void> {
  expect(faults.length).toBeGreaterThan(0);
  const failures: string[] = [];
  for (const fault of faults) {
    const { reported, wrong, isWhole } = await judge(stage, fault);
    failures.push(...wrong.map((difference) => `${fault.name}: restored wrongly: ${difference}`));
    const isSilent = reported.length === 0;
    if (isSilent && !isWhole) failures.push(`${fault.name}: not reported, although it costs files`);
    if (isSilent !== fault.files.every((file) => silent(file))) {
      failures.push(`${fault.name}: ${isSilent ? 'not reported' : `unexpectedly reported: ${reported.join()}`}`);
    }
  }
  expect(failures).toEqual([]);
}

/** A bit of each byte in the headers of a checkpoint and of a pack: most of them are not encrypted. */
function headerBits(file: string): number[] {
  const isChosen = [inDirectory('filter'), inDirectory('packs')].some((isIn) => file === names.find(isIn));
  return isChosen ? sample(56, inSoak(1, 11), 0).map((index) => index * 8 + (index % 8)) : [];
}

/** Every `step`-th number below `count`, from an offset that differs from file to file. */
function sample(count: number, step: number, offset: number): number[] {
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => (i * step + (offset % step)) % count);
}

function inDirectory(...directories: readonly string[]): (file: string) => boolean {
  return (file) => directories.some((directory) => file.startsWith(`${directory}/`));
}

describe('a bit', () => {
  test.each(seedsOf(1, 1))(
    'that is flipped in any file (seed %i)',
    async (seed) => {
      // The steps are odd, so that each bit of a byte has its turn. More than half of all bytes are in checkpoints. All
      // 240,000 bits would take hours of the soak: it draws where the steps begin instead.
      const faults = names.flatMap((file, index) => {
        const bitCount = stage.backend.view(file).length * 8;
        const step = inSoak(31, file.startsWith('filter/') ? 60_001 : 9001);
        const bits = new Set([...headerBits(file), ...sample(bitCount, step, seed - 1 + 37 * index)]);
        return [...bits].map((bit) => flipped(stage.backend, file, bit));
      });
      await expectReported(faults);
    },
    HOURS_MS,
  );

  test('that is flipped in the only key file', async () => {
    const [file] = states[0]!.names().filter(inDirectory('keys'));
    const bytes = states[0]!.peek(file!)!;
    const [backend, repositoryId] = [new MemoryBackend(), stage.opened.config.repository_id];
    const opens = async (): Promise<unknown> => unlock(backend, repositoryId, Buffer.from(STAGE_PASSWORD));
    for (let bit = 0; bit < bytes.length * 8; bit += inSoak(1, 5)) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      backend.poke(file!, changed);
      await expect(opens(), `bit ${bit}`).rejects.toMatchObject({ code: 'CORRUPT_DATA' });
    }
    backend.poke(file!, bytes);
    await opens();
  });
});

describe('a file', () => {
  test(
    'that is cut off at any length',
    async () => {
      const faults = names.flatMap((file, index) => {
        const { length } = stage.backend.view(file);
        const ends = [0, length - 1];
        const some = sample(length, inSoak(1, 4001), 37 * index);
        const lengths = new Set([...inSoak(ends, [ends[index % 2]!]), ...some]);
        return [...lengths].map((each) => truncated(file, each));
      });
      await expectReported(faults);
    },
    HOURS_MS,
  );

  test('that is deleted, unless the document says that it may be missing', async () => {
    const isOptional = inDirectory('filter', 'manifests.bak', 'condemned');
    await expectReported(
      names.map(deleted),
      (file) => isOptional(file) || isCommitName(file) || file === stage.spareKey,
    );
  });

  test(
    'that is exchanged with another one of the repository',
    async () => {
      const pairs = names.flatMap((first, index) => names.slice(index + 1).map((second) => [first, second] as const));
      const isEqual = (first: string, second: string): boolean =>
        stage.backend.view(first).equals(stage.backend.view(second));
      const different = pairs.filter(([first, second]) => !isEqual(first, second));
      const isNear = (first: string, second: string): boolean => first.split('/')[0] === second.split('/')[0];
      const far = different.filter(([first, second]) => !isNear(first, second));
      const near = different.filter(([first, second]) => isNear(first, second));
      const some = (all: typeof pairs, step: number): typeof pairs =>
        sample(all.length, inSoak(1, step), 3).map((index) => all[index]!);
      const chosen = [...some(near, 2), ...some(far, 83)];
      expect(near.length).toBeGreaterThan(20);
      // The names of checkpoints are not digests: both are valid, whichever is newer.
      await expectReported(
        chosen.map((pair) => swapped(...pair)),
        inDirectory('filter'),
      );
    },
    HOURS_MS,
  );

  test('of another repository with the same password', async () => {
    const faults = importantNames(other.backend).map((file) =>
      put('of another repository', new Map([[file, other.backend.peek(file)!]])),
    );
    // A pack that no segment lists belongs to a backup that was interrupted.
    await expectReported(faults, inDirectory('packs'));
    // Somebody has to tell which of the two configurations belongs here.
    const config = put('of another repository', new Map([['config', other.backend.peek('config')!]]));
    expect(await judge(stage, config)).toMatchObject({ reported: ['CORRUPT_DATA'] });
  });

  test('of an earlier state of the repository', async () => {
    const faults = states.flatMap((state, index) => {
      const changed = importantNames(state).filter(
        (file) => stage.backend.peek(file)?.equals(state.peek(file)!) !== true,
      );
      return changed.map((file) => put(`as after backup ${index + 1}`, new Map([[file, state.peek(file)!]])));
    });
    // A checkpoint is brought up to date, whatever its age; and to put a manifest back is how a delete is undone.
    await expectReported(faults, inDirectory('filter', 'snapshots'));
  });

  test('that is not encrypted', async () => {
    await withTemporaryDirectory(async (directory) => {
      const plain = new MemoryBackend();
      const { backend, threads, storeSizes } = contextOf(plain, stage.password);
      await initRepository({ backend, threads, storeSizes }, { capacity: 16, encryption: 'never' });
      await backup({ backend, threads, storeSizes }, { sources: [directory], cwd: '/' });
      const files = importantNames(plain).map((file) => [file, plain.peek(file)!] as const);
      const single = files.filter(([file]) => !file.startsWith('config'));
      const config = new Map(files.filter(([file]) => file.startsWith('config')));
      const faults = [
        ...single.map(([file, bytes]) => put('not encrypted', new Map([[file, bytes]]))),
        put('not encrypted', config),
        put('not encrypted', new Map([['config', config.get('config')!]])),
      ];
      await expectReported(faults, inDirectory('packs'));
    });
  });
});

test('a repair leaves a damaged key file, and says so', async () => {
  const disk = stage.backend.copy();
  flipped(disk, stage.spareKey, 100).apply(disk);
  const { actions, remaining } = await repair(contextOf(disk, stage.password));
  expect(actions).toEqual([]);
  expect(remaining).toMatchObject([{ kind: 'key-damaged', keyId: stage.spareKey.slice(5) }]);
});
