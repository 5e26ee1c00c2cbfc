import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { recallReadPacks, rememberReadPacks } from '../../../src/verbs/check/read-packs.ts';
import { exitCodeOfBackup } from '../../../src/console/reports/backup-report.ts';
import type { ReusedShare } from '../../../src/verbs/backup/backup.ts';
import { RepositoryChunkSaver } from '../../../src/core/saving/repository-chunk-saver.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { CheckResult } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { unlockOfTests } from '../../support/test-password.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const EVERYTHING = { percent: 100 } as const;

let repository: TestRepository;
const secret = createPrng(7).bytes(400);

/** What a client that somebody has taken over can do: it stores other bytes under the id of a chunk. */
async function poison(bytes: Uint8Array): Promise<void> {
  const opened = await Repository.open({ backend: repository.context.backend, mode: 'shared', unlock: unlockOfTests });
  try {
    const { state } = await opened.openState();
    const chunks = new RepositoryChunkSaver(opened, state, { writes: true, condemnedPackIds: new Set() });
    await chunks.put('data', opened.hasher.dataId(bytes), Buffer.from(bytes).reverse());
    await chunks.finish();
  } finally {
    await opened.close();
  }
}

function errorsOf({ findings }: CheckResult): string[] {
  return findings.filter(({ severity }) => severity === 'error').map(({ kind }) => kind);
}

beforeEach(async () => {
  repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  writeFileSync(join(repository.source, 'other'), createPrng(8).bytes(20_000));
  await repository.backup();
  await poison(secret);
  writeFileSync(join(repository.source, 'secret'), secret);
});

describe('a chunk with other bytes than its id says, which a client has added,', () => {
  it('is relied on, and only found by reading the data', async () => {
    const { verified } = await repository.backup();
    expect(verified).toBeUndefined();
    expect(errorsOf(await check(repository.context))).toEqual([]);
    expect(errorsOf(await check(repository.context, { readData: true }))).toEqual(['pack-damaged']);
    expect((await repository.restore()).problems).toHaveLength(1);
  });

  it.each<[string, ReusedShare]>([
    ['100%', EVERYTHING],
    ['1/1', { part: 1, of: 1 }],
  ])('is found by a backup that verifies %s of what it reuses, and stored again', async (_, verifyReused) => {
    const result = await repository.backup({ verifyReused });
    expect(result.verified).toMatchObject({ wrongCount: 1 });
    expect(exitCodeOfBackup(result)).toBe(4);
    expect(repository.notices).toContainEqual(expect.objectContaining({ kind: 'reused-wrong', isStored: true }));
    await repository.expectRestored();
    expect((await repair(repository.context)).remaining).toEqual([]);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('that was reused before is stored again although the file is unchanged', async () => {
    await repository.backup();
    const result = await repository.backup({ verifyReused: EVERYTHING });
    expect(result.verified).toMatchObject({ wrongCount: 1 });
    await repository.expectRestored();
  });

  it('is only reported by a dry run', async () => {
    const before = readdirSync(repository.context.backend.location, { recursive: true }).length;
    const result = await repository.backup({ verifyReused: EVERYTHING, dryRun: true });
    expect(exitCodeOfBackup(result)).toBe(4);
    expect(readdirSync(repository.context.backend.location, { recursive: true })).toHaveLength(before);
  });

  it('is in a pack that a check of new packs reads until it is set aside', async () => {
    const directory = temporaryDirectory();
    const place = { directory, location: repository.context.backend.location };
    const nightly = async (): Promise<CheckResult> => {
      const isKnown = (repositoryId: string): ((id: string) => boolean) => recallReadPacks({ ...place, repositoryId });
      const result = await check(repository.context, { readData: true, isKnown });
      rememberReadPacks({ ...place, ...result }, result.packIds, result.soundIds);
      return result;
    };
    const first = await nightly();
    expect([first.packsRead, errorsOf(first)]).toEqual([first.packsChecked, ['pack-damaged']]);
    const second = await nightly();
    expect([second.packsRead, errorsOf(second)]).toEqual([1, ['pack-damaged']]);
    await repair(repository.context);
    await repository.backup();
    const third = await nightly();
    expect(errorsOf(third)).toEqual([]);
    expect(third.packsRead).toBeGreaterThan(0);
    expect((await nightly()).packsRead).toBe(0);
    await repository.expectRestored();
  });
});

it('a backup that finds everything that it reuses right stores nothing again', async () => {
  const whole = await makeTestRepository();
  writeFileSync(join(whole.source, 'file'), createPrng(9).bytes(5000));
  await whole.backup();
  const result = await whole.backup({ verifyReused: EVERYTHING });
  expect(result.verified).toMatchObject({ wrongCount: 0 });
  expect(result.verified!.chunkCount).toBeGreaterThan(0);
  expect([exitCodeOfBackup(result), result.summary.dataBlobs]).toEqual([0, 0]);
  expect(whole.notices).toEqual([]);
});
