import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { CachedBackend } from '../../../src/places/remote/cached-backend.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { LyingBackend } from '../../support/lying-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

test.each([20, 100])('a cache keeps none of %i wrong answers in a hundred (seed 3)', async (percent) => {
  const repository = await makeTestRepository();
  for (let index = 0; index < 40; index += 1)
    writeFileSync(join(repository.source, `f${index}`), createPrng(index).bytes(500));
  await repository.backup();
  const directory = join(repository.directory, 'cache');
  const prng = createPrng(3);
  for (let run = 0; run < 6; run += 1) {
    const lying = new LyingBackend(repository.context.backend, { prng, lie: 'flip', percent });
    const backend = new CachedBackend(lying, { directory });
    const target = join(repository.directory, `lied-${run}`);
    await restore({ ...repository.context, backend }, { selector: 'latest', target }).catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'UNRELIABLE_READ' }),
    );
    const entries = existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : [];
    for (const copy of entries.filter((each) => /\/\w+\/[^/]{20,}$/.test(each))) {
      const name = copy.slice(copy.indexOf('/') + 1).split('.')[0]!;
      const original = join(repository.directory, 'repository', name.replace(/^packs\/(..)/, 'packs/$1/$1'));
      expect(readFileSync(join(directory, copy)).equals(readFileSync(original)), copy).toBe(true);
    }
  }
  await repository.expectClean();
});
