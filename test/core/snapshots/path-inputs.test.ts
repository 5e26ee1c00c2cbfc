import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { restore } from '../../../src/verbs/restore/restore.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

test('paths are text or bytes, whatever the arguments of this process are', async () => {
  const repository = await makeTestRepository();
  const { context, directory, source } = repository;
  writeFileSync(join(source, 'file'), 'content');
  await repository.backup({ sources: [Buffer.from('source')], cwd: Buffer.from(directory) });
  const bytes = Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0x74, 0xff])]);
  await restore(context, { selector: Buffer.from('latest:source'), target: bytes });
  expect(readdirSync(bytes)).toEqual(['file']);
  const { target } = await restore(context, { selector: 'latest', target: join(directory, 'u\ufffd') });
  expect(target).toBe(byteStringFromText(join(directory, 'u\ufffd')));
  expect(readdirSync(join(directory, 'u\ufffd'))).toEqual(['source']);
});
