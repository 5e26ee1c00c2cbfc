import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { temporaryName } from '../../../src/core/files/target/work-names.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

/** The name of a temporary file of a restore that was killed. */
function leftoverName(): string {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  return temporaryName().replace(/^\.ldm-restore-[0-9a-z]+/, `.ldm-restore-${pid.toString(36)}`);
}

it('keeps the files of the snapshot that are named like leftovers, and removes leftovers', async () => {
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  const [saved, leftover] = [leftoverName(), leftoverName()];
  for (const inner of ['.', 'sub']) {
    mkdirSync(join(source, inner), { recursive: true });
    writeFileSync(join(source, inner, saved), 'keep');
    writeFileSync(join(source, inner, 'file'), 'file');
  }
  await repository.backup();
  const target = join(directory, 'target');
  const places = [target, join(target, 'sub')];
  mkdirSync(join(target, 'sub'), { recursive: true });
  for (const place of places) writeFileSync(join(place, leftover), 'left');
  const expectKept = (): void => {
    for (const place of places) {
      expect(readFileSync(join(place, saved), 'utf8')).toBe('keep');
      expect(existsSync(join(place, leftover))).toBe(false);
    }
  };
  for (const options of [{}, {}, { exclude: [saved] }, { overwrite: 'always' }, { delete: true }] as const) {
    expect((await repository.restore({ selector: 'latest:source', target, ...options })).problems).toEqual([]);
    expectKept();
  }
  // Of one file, the restore does not know what else the directory of the snapshot has.
  await repository.restore({ selector: 'latest:source/sub/file', target: join(target, 'sub') });
  expectKept();
  expect(readdirSync(join(target, 'sub')).toSorted()).toEqual([saved, 'file']);
});
