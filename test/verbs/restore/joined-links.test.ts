import { linkSync, lstatSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { CancelledError } from '../../../src/core/errors.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { NO_ATTRIBUTE_TOOLS } from '../../support/attribute-dump.ts';
import { bringBack, makeStage, save } from '../../support/attribute-stage.ts';
import { beforeReads } from '../../support/file-calls.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { NO_ROOT } from '../../support/unprivileged.ts';

/** A comparison reads a MiB at a time. */
const MANY_READS = Buffer.alloc(4 << 20);

const needsRoot = testNeeding(NO_ATTRIBUTE_TOOLS, NO_ROOT);

it.each([
  ['of files that exist', (second: string): void => writeOld(second, MANY_READS)],
  ['of a file that is missing with one that exists', (): void => undefined],
])('a comparison %s can be interrupted', async (_, makeAgain) => {
  const repository = await makeTestRepository();
  const { source, context } = repository;
  writeOld(join(source, 'a1'), MANY_READS);
  linkSync(join(source, 'a1'), join(source, 'a2'));
  await repository.backup();
  const { target } = await repository.restore();
  const second = join(target, 'source/a2');
  rmSync(second);
  makeAgain(second);
  const controller = new AbortController();
  const { signal } = controller;
  let readCount = 0;
  beforeReads(target, (path) => {
    if (path !== join(target, 'source/a1')) return;
    readCount += 1;
    controller.abort(new CancelledError('SIGINT'));
  });
  const options = { selector: 'latest', target, overwrite: 'if-changed' } as const;
  await expect(restore({ ...context, signal }, options)).rejects.toBeInstanceOf(CancelledError);
  // And not only by what came after it.
  expect(readCount).toBe(1);
  // The next one completes it.
  expect(await repository.restore({ target, overwrite: 'if-changed' })).toMatchObject({ problems: [] });
  expect(lstatSync(second).nlink).toBe(2);
});

needsRoot(`a name that cannot be linked to an immutable file is reported`, async () => {
  const stage = await makeStage();
  for (const name of ['a1', 'a2']) {
    if (name === 'a1') writeOld(join(stage.source, name));
    else linkSync(join(stage.source, 'a1'), join(stage.source, name));
  }
  runTool('chattr', '+i', join(stage.source, 'a1'));
  await save(stage);
  expect(await bringBack(stage)).toMatchObject({ problems: [] });
  const [first, second] = ['a1', 'a2'].map((name) => join(stage.directory, 'target/tree', name)) as [string, string];
  runTool('chattr', '-i', first);
  rmSync(second);
  runTool('chattr', '+i', first);
  // First the missing name is written, then it exists as a separate file.
  for (const filesRestored of [1, 0]) {
    const result = await bringBack(stage, { overwrite: 'if-changed' });
    expect(result).toMatchObject({ filesRestored, problems: [{ path: 'tree/a2', code: 'HARD_LINK' }] });
    expect(readFileSync(second, 'utf8')).toBe('content');
    expect(lstatSync(second).ino).not.toBe(lstatSync(first).ino);
    expect(runTool('lsattr', second)).toMatch(/^-*i/);
  }
  runTool('chattr', '-i', first, second);
  expect(await bringBack(stage, { overwrite: 'if-changed' })).toMatchObject({ problems: [] });
  expect(lstatSync(second).ino).toBe(lstatSync(first).ino);
});

function writeOld(path: string, content: string | Buffer = 'content'): void {
  writeFileSync(path, content);
  utimesSync(path, 1_000_000_000, 1_000_000_000);
}
