import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { nativeCalls } from '../../../src/core/files/native/native.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

test('a file dated beyond what a number can say costs nothing but that date', async () => {
  const repository = await makeTestRepository();
  for (const [name, seconds] of [['late', 2 ** 62] as const, ['early', -(2 ** 62)] as const]) {
    const path = join(repository.source, name);
    writeFileSync(path, name);
    nativeCalls()!.lutimens(byteStringFromText(path), undefined, { seconds, nanoseconds: 5 });
  }
  expect((await repository.backup()).problems).toEqual([]);
  const { problems, filesRestored } = await repository.restore();
  expect([problems, filesRestored]).toEqual([[], 2]);
  await repository.expectClean();
});
