import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { CachedBackend } from '../../../src/places/remote/cached-backend.ts';
import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { isId } from '../../../src/core/format/layout.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { inSoak } from '../../support/soak.ts';
import { letSettle, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

let repository: TestRepository;
let cacheDirectory: string;
let troubles: string[];
let targetCount: number;

/** The repository as another command sees it: with the same cache directory, and with nothing in memory. */
function open(directory: string = cacheDirectory, maxBytes?: number): OperationContext & { readonly backend: Backend } {
  const onTrouble = (reason: string): void => void troubles.push(reason);
  const metered = new MeteredBackend(repository.context.backend);
  return { ...repository.context, backend: new CachedBackend(metered, { directory, maxBytes, onTrouble }) };
}

async function backUp(context: OperationContext = open()): Promise<void> {
  const { problems } = await backup(context, { sources: [repository.source], cwd: repository.directory });
  expect(problems).toEqual([]);
}

async function expectRestored(context: OperationContext = open()): Promise<void> {
  targetCount += 1;
  const target = join(repository.directory, `cached-${targetCount}`);
  const { problems } = await restore(context, { selector: 'latest', target });
  expect(problems).toEqual([]);
  expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
}

/** The paths of all copies, relative to the directory of all caches. */
function copies(directory: string = cacheDirectory): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile() && entry.name !== 'CACHEDIR.TAG')
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();
}

/** The path of the original in the repository. */
function storedPath(copy: string): string {
  const name = copy.split('/').slice(1).join('/').split('.')[0]!;
  return join(repository.context.backend.location, name.replace(/^packs\/(..)/, 'packs/$1/$1'));
}

function kindOf(copy: string): string {
  return copy.split('/')[1]!;
}

beforeEach(async () => {
  repository = await makeTestRepository({ capacity: 256 });
  cacheDirectory = join(repository.directory, 'cache');
  troubles = [];
  targetCount = 0;
  for (let index = 0; index < 40; index += 1) {
    const directory = join(repository.source, `d${index % 8}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${index}`), createPrng(index).bytes(500));
  }
  await letSettle(join(repository.source, 'd7', 'f39'));
});

describe('a cache of a repository', () => {
  it('keeps what every command reads, exactly as it is stored, for its user alone', async () => {
    await backUp();
    const found = copies();
    expect([...new Set(found.map(kindOf))]).toEqual(['filter', 'index', 'packs', 'snapshots']);
    for (const copy of found) {
      const original = readFileSync(storedPath(copy));
      expect(readFileSync(join(cacheDirectory, copy)).equals(original), copy).toBe(true);
      expect(statSync(join(cacheDirectory, copy)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(cacheDirectory).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(cacheDirectory, 'CACHEDIR.TAG'), 'latin1')).toMatch(
      /^Signature: 8a477f597d28d172789f06886806bc55\n/,
    );
    await repository.expectClean();
  });

  it('is not needed: a second machine, or a lost cache, only reads more', async () => {
    await backUp();
    const second = join(repository.directory, 'second');
    await expectRestored(open(second));
    expect(copies(second).map(kindOf)).toContain('packs');
    rmSync(cacheDirectory, { recursive: true });
    await backUp();
    await backUp(open(second));
    await expectRestored();
    await repository.expectClean();
  });

  it.each(['flipped', 'truncated', 'extended', 'emptied', 'removed'])(
    'is not believed when a copy is %s',
    async (how) => {
      await backUp();
      const damage = (bytes: Buffer, position: number): Buffer => {
        if (how === 'truncated') return bytes.subarray(0, position);
        if (how === 'extended') return Buffer.concat([bytes, Buffer.from([0])]);
        if (how === 'emptied') return Buffer.alloc(0);
        const flipped = Buffer.from(bytes);
        flipped[position]! ^= 0x10;
        return flipped;
      };
      for (const copy of copies()) {
        const path = join(cacheDirectory, copy);
        const original = readFileSync(path);
        const all = [0, 20, Math.floor(original.length / 2), original.length - 40, original.length - 1];
        // The others do the same at each position.
        const positions = how === 'flipped' || how === 'truncated' ? inSoak(all, all.slice(1, 4)) : [0];
        for (const position of positions) {
          if (how === 'removed') rmSync(path, { force: true });
          else writeFileSync(path, damage(original, position));
          const context = open();
          await backUp(context);
          await expectRestored();
          // What is damaged was read from the repository, which says nothing is wrong there.
          expect(repository.notices.filter(({ kind }) => kind === 'checkpoint-damaged')).toEqual([]);
          expect(troubles).toEqual([]);
        }
      }
      for (const copy of copies()) {
        const stored = copy
          .split('/')
          .slice(1)
          .join('/')
          .split('.')[0]!
          .replace(/^packs\/(..)/, 'packs/$1/$1');
        const original = readFileSync(join(repository.context.backend.location, stored));
        expect(readFileSync(join(cacheDirectory, copy)).equals(original), `${copy} was repaired`).toBe(true);
      }
      await repository.expectClean();
    },
  );

  it('does not hide damage of the repository from check', async () => {
    await backUp();
    for (const kind of ['index', 'snapshots', 'packs']) {
      const copy = copies().find((each) => kindOf(each) === kind)!;
      const stored = copy
        .split('/')
        .slice(1)
        .join('/')
        .replace(/^packs\/(..)/, 'packs/$1/$1');
      const path = join(repository.context.backend.location, stored);
      const original = readFileSync(path);
      const flipped = Buffer.from(original);
      flipped[Math.floor(flipped.length / 2)]! ^= 1;
      writeFileSync(path, flipped);
      const { findings } = await check(open(), { readData: true });
      expect(
        findings.filter(({ severity }) => severity === 'error'),
        kind,
      ).not.toEqual([]);
      writeFileSync(path, original);
    }
  });

  it('forgets what the repository does not have any more', async () => {
    await backUp();
    await backUp();
    const before = copies();
    rmSync(join(repository.source, 'd0'), { recursive: true });
    // By a machine without this cache.
    await deleteSnapshots(repository.context, { selectors: ['latest~1', 'latest'] });
    await compact(repository.context, {});
    expect(await listSnapshots(open())).toEqual([]);
    await backUp();
    const after = copies().filter((copy) => before.includes(copy));
    expect(after).toEqual([]);
    await expectRestored();
    await repository.expectClean();
  });

  it('never keeps a damaged file of the repository', async () => {
    await backUp();
    const index = readdirSync(join(repository.context.backend.location, 'index'));
    const segment = index.find((name) => isId(name));
    const path = join(repository.context.backend.location, 'index', segment!);
    const original = readFileSync(path);
    const flipped = Buffer.from(original);
    flipped[original.length - 1]! ^= 1;
    writeFileSync(path, flipped);
    const second = join(repository.directory, 'second');
    await expectRestored(open(second)).catch(() => undefined);
    expect(copies(second).map(kindOf)).not.toContain('index');
    writeFileSync(path, original);
    await expectRestored(open(second));
    expect(copies(second).map(kindOf)).toContain('index');
  });

  it('can be used by several commands at once', async () => {
    await backUp();
    const contexts = [open(), open(), open(), open()];
    await Promise.all(
      contexts.map(async (context, index) => (index % 2 === 0 ? backUp(context) : expectRestored(context))),
    );
    rmSync(cacheDirectory, { recursive: true });
    await expectRestored(contexts[0]);
    expect(troubles).toEqual([]);
    await repository.expectClean();
  });

  it('stays below its limit', async () => {
    await backUp();
    await backUp();
    const sizeOf = (copy: string): number => statSync(join(cacheDirectory, copy)).size;
    const largest = Math.max(...copies().map(sizeOf));
    const small = join(repository.directory, 'small');
    await expectRestored(open(small, largest));
    await backUp(open(small, largest));
    const total = copies(small).reduce((sum, copy) => sum + statSync(join(small, copy)).size, 0);
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(largest);
    await expectRestored(open(small, largest));
  });

  it('is given up with one message where it cannot be written', async () => {
    const file = join(repository.directory, 'file');
    writeFileSync(file, '');
    await backUp(open(join(file, 'cache')));
    expect(troubles).toHaveLength(1);
    await expectRestored(open(join(file, 'cache')));
    expect(troubles).toHaveLength(2);
  });
});
