import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { RefusedError, WrongPasswordError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { initRepository, initRepositoryIfMissing } from '../../../src/core/creating/init.ts';
import type { InitResult } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';

type Kind = 'plain' | 'encrypted';

const OPTIONS = { plain: { encryption: 'never' }, encrypted: { encryption: 'always' } } as const;

/** A place, with a password of its own. */
function newPlace(): OperationContext {
  const place = join(memoryDirectory(), 'repository');
  return { backend: new LocalBackend(place), password: testPassword(`of ${place}`) };
}

const PARAMETERS: InitOptions = { chunker: TINY_CHUNKS, chunkHash: 'sha256', packHash: 'sha256', compressionLevel: 5 };

async function initLike(
  original: OperationContext,
  kind: Kind,
  options: InitOptions = {},
): Promise<{ readonly context: OperationContext; readonly result: InitResult }> {
  const context = newPlace();
  const result = await initRepository(context, { ...OPTIONS[kind], copyParametersFrom: original, ...options });
  return { context, result };
}

/** Backs up some random files, and returns how many chunks were added. */
async function backUp(context: OperationContext, source: string): Promise<number> {
  return (await backup(context, { sources: [source], cwd: source })).summary.dataBlobs;
}

function makeSource(): string {
  const source = memoryDirectory();
  const random = createPrng(7);
  for (const name of ['a', 'b', 'c']) writeFileSync(join(source, name), random.bytes(60_000));
  return source;
}

describe('copied parameters', () => {
  it.each(['plain', 'encrypted'] as const)('make the chunks of two %s repositories the same', async (kind) => {
    const original = newPlace();
    const own = await initRepository(original, { ...PARAMETERS, ...OPTIONS[kind] });
    const { context, result } = await initLike(original, kind);
    expect(result).toMatchObject({
      hasSameChunks: true,
      chunker: own.chunker,
      chunkHash: 'sha256',
      packHash: 'sha256',
    });
    expect(result.plan).toEqual(own.plan);
    expect(result.repositoryId).not.toBe(own.repositoryId);
    const source = makeSource();
    expect(await backUp(original, source)).toBeGreaterThan(50);
    await copySnapshots(original, { destination: context });
    expect(await backUp(context, source)).toBe(0);
    expect((await check(context, { readData: true })).findings).toEqual([]);
  });

  it('keep the chunks the same after a rotation of the master key', async () => {
    const original = newPlace();
    await initRepository(original, { ...PARAMETERS, ...OPTIONS.encrypted });
    const { context } = await initLike(original, 'encrypted');
    const source = makeSource();
    await backUp(original, source);
    await rotateMasterKey(context);
    const copied = await copySnapshots(original, { destination: context });
    expect(copied.isExact).toBe(true);
    expect(await backUp(context, source)).toBe(0);
  });

  it.each([
    ['plain', 'encrypted'],
    ['encrypted', 'plain'],
  ] as const)('share no key of a %s repository with one that is %s', async (from, to) => {
    const original = newPlace();
    await initRepository(original, { ...PARAMETERS, ...OPTIONS[from] });
    const { context, result } = await initLike(original, to);
    expect(result).toMatchObject({ hasSameChunks: false, isEncrypted: to === 'encrypted', chunker: TINY_CHUNKS });
    const source = makeSource();
    await backUp(original, source);
    expect(await copySnapshots(original, { destination: context, dryRun: true })).toMatchObject({ isExact: false });
  });

  it('give way to options', async () => {
    const original = newPlace();
    await initRepository(original, { ...PARAMETERS, ...OPTIONS.plain, fpr: 0.001, capacity: 5000 });
    const { result } = await initLike(original, 'plain', { packHash: 'blake3', hashes: 3 });
    expect(result).toMatchObject({ packHash: 'blake3', hasSameChunks: true, plan: { hashes: 3, capacity: 5000 } });
    expect((await initLike(original, 'plain', { chunkHash: 'sha1' })).result.hasSameChunks).toBe(false);
  });

  it('need the password of the other repository', async () => {
    const original = newPlace();
    await initRepository(original, OPTIONS.encrypted);
    const context = newPlace();
    const other = { ...original, password: testPassword('wrong') };
    const attempt = initRepository(context, { ...OPTIONS.encrypted, copyParametersFrom: other });
    await expect(attempt).rejects.toThrow(WrongPasswordError);
    await expect(attempt).rejects.toThrow(original.backend.location);
    expect(existsSync(context.backend.location)).toBe(false);
  });
});

describe('a repository that may exist', () => {
  it.each(['plain', 'encrypted'] as const)('is created once (%s)', async (kind) => {
    const context = newPlace();
    const first = await initRepositoryIfMissing(context, OPTIONS[kind]);
    const second = await initRepositoryIfMissing(context, OPTIONS[kind]);
    expect([first.isNew, second.isNew]).toEqual([true, false]);
    const idOf = (outcome: typeof first): string =>
      outcome.isNew ? outcome.created.repositoryId : outcome.existing.repositoryId;
    expect(idOf(second)).toBe(idOf(first));
  });

  it.each<[string, InitOptions, InitOptions]>([
    ['not encrypted', OPTIONS.plain, OPTIONS.encrypted],
    ['encrypted', OPTIONS.encrypted, OPTIONS.plain],
    ['not append-only', OPTIONS.plain, { ...OPTIONS.plain, appendOnly: true }],
  ])('is refused if it is %s, and should not be', async (difference, own, wanted) => {
    const context = newPlace();
    await initRepository(context, own);
    const attempt = initRepositoryIfMissing(context, wanted);
    await expect(attempt).rejects.toThrow(RefusedError);
    await expect(attempt).rejects.toThrow(`and it is ${difference}`);
  });

  it('is refused if something else is there', async () => {
    const context = newPlace();
    mkdirSync(context.backend.location);
    writeFileSync(join(context.backend.location, 'notes.txt'), 'mine');
    await expect(initRepositoryIfMissing(context, OPTIONS.plain)).rejects.toThrow('it contains notes.txt');
    rmSync(join(context.backend.location, 'notes.txt'));
    expect(await initRepositoryIfMissing(context, OPTIONS.plain)).toMatchObject({ isNew: true });
  });
});
