import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { CountingBackend } from '../../support/counting-backend.ts';
import { packsOfKind } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD } from '../../support/test-password.ts';

const FILE_BYTES = 25_000;
const FILE_COUNT = 40;
const WANTED = 'f27';

/** A place on another machine. */
class FarBackend extends CountingBackend {
  override readonly readsAtOnce: number = 16;
}

interface Stage {
  readonly disk: MemoryBackend;
  readonly content: Buffer;
  /** The only pack with contents, in which all files share a block that is not compressed. */
  readonly pack: string;
  /** Restores one of the files. Returns undefined if there is a problem instead. */
  readonly restoreOne: (backend: FarBackend) => Promise<Buffer | undefined>;
}

async function setStage(isEncrypted: boolean): Promise<Stage> {
  const directory = memoryDirectory();
  const source = join(directory, 'source');
  mkdirSync(source);
  const prng = createPrng(35);
  for (let index = 0; index < FILE_COUNT; index += 1) writeFileSync(join(source, `f${index}`), prng.bytes(FILE_BYTES));
  const disk = new MemoryBackend();
  const context: OperationContext = { backend: disk, ...(isEncrypted ? { password: TEST_PASSWORD } : {}) };
  await initRepository(context, { encryption: isEncrypted ? 'always' : 'never' });
  await backup(context, { sources: [source], cwd: directory });
  const [pack, ...others] = packsOfKind(disk, 'data');
  expect(others).toEqual([]);
  let targetCount = 0;
  const restoreOne = async (backend: FarBackend): Promise<Buffer | undefined> => {
    targetCount += 1;
    const target = join(directory, `target-${targetCount}`);
    const { problems } = await restore({ ...context, backend }, { selector: 'latest', target, include: [WANTED] });
    const path = join(target, 'source', WANTED);
    expect(existsSync(path)).toBe(problems.length === 0);
    return existsSync(path) ? readFileSync(path) : undefined;
  };
  return { disk, content: readFileSync(join(source, WANTED)), pack: pack!, restoreOne };
}

describe.each([
  ['plain', false],
  ['encrypted', true],
])('a file that does not compress, on another machine, %s', (_, isEncrypted) => {
  it('is restored without the rest of its block', async () => {
    const { disk, content, pack, restoreOne } = await setStage(isEncrypted);
    const backend = new FarBackend(disk);
    expect(await restoreOne(backend)).toEqual(content);
    expect(backend.bytesRead.get(pack)).toBeLessThan(FILE_BYTES + 4000);
  });

  it('is restored or reported wherever a byte is damaged, and never with wrong bytes', async () => {
    const { disk, content, pack, restoreOne } = await setStage(isEncrypted);
    const sound = disk.peek(pack)!;
    const outcomes = { right: 0, reported: 0 };
    const header = [32, 36, 40, 44, 48, 52, 60, 68];
    const spread = Array.from({ length: FILE_COUNT }, (__, index) =>
      Math.floor(((index + 0.5) * sound.length) / FILE_COUNT),
    );
    for (const offset of [...header, ...spread]) {
      const bytes = Buffer.from(sound);
      bytes[offset]! ^= 0x10;
      disk.poke(pack, bytes);
      const restored = await restoreOne(new FarBackend(disk));
      if (restored !== undefined) expect(restored).toEqual(content);
      outcomes[restored === undefined ? 'reported' : 'right'] += 1;
    }
    // Damage in other files does not matter, as their bytes are not read.
    expect(outcomes.right).toBeGreaterThanOrEqual(FILE_COUNT - 2);
    expect(outcomes.reported).toBeGreaterThanOrEqual(1);
  });

  it('is reported where its pack is gone, and ends no restore', async () => {
    const { disk, pack, restoreOne } = await setStage(isEncrypted);
    await disk.remove(pack);
    expect(await restoreOne(new FarBackend(disk))).toBeUndefined();
  });
});
