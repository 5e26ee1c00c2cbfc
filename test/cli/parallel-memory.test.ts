import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { makeRemembering } from '../support/remembering.ts';
import { runLdm } from '../support/run-ldm.ts';

test('commands that run beside each other leave a sound memory, and nothing is missed', async () => {
  const { directory, repository, env, runWell, backUp, memoryFiles } = await makeRemembering();
  await backUp();
  const kinds = ['backup source', 'snapshots', 'backup source', 'delete latest --no-reclaim', 'backup source', 'check'];
  const running = kinds.map(async (words) => ({
    words,
    result: await runLdm(words.split(' '), { cwd: directory, env }),
  }));
  for (const { words, result } of await Promise.all(running)) {
    expect({ words, code: result.code, stderr: result.stderr }).toEqual({ words, code: 0, stderr: '' });
  }
  await runWell(['snapshots']);
  const names = readdirSync(join(repository, 'snapshots'));
  expect(names).toHaveLength(4);
  const [file, ...others] = memoryFiles();
  expect(others).toEqual([]);
  const { snapshots, key_id: keyId } = JSON.parse(readFileSync(file!, 'utf8')) as Record<string, unknown>;
  expect((snapshots as string[]).map((entry) => entry.slice(0, 64))).toEqual(names.sort());
  expect([keyId]).toEqual(readdirSync(join(repository, 'keys')));
  await runWell(['compact']);
  await runWell(['check']);
});
