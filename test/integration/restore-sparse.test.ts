import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { createPrng } from '../support/prng.ts';
import { makeTestRepository } from '../support/test-repository.ts';

const MIB = 1024 * 1024;
const noise = (lengthBytes: number): Buffer => createPrng(lengthBytes).bytes(lengthBytes);
const zeros = (lengthBytes: number): Buffer => Buffer.alloc(lengthBytes);

/** By name, a content and the most that it may occupy on the disk. */
const files = new Map<string, { readonly content: Buffer; readonly occupiedMax: number }>([
  ['zeros', { content: zeros(5 * MIB + 3), occupiedMax: 0 }],
  ['at the start', { content: Buffer.concat([zeros(3 * MIB + 1), noise(100)]), occupiedMax: 8192 }],
  ['at the end', { content: Buffer.concat([noise(5000), zeros(3 * MIB)]), occupiedMax: 8192 }],
  ['in the middle', { content: Buffer.concat([noise(MIB), zeros(9 * MIB), noise(MIB)]), occupiedMax: 2 * MIB + 8192 }],
  ['noise', { content: noise(MIB), occupiedMax: MIB }],
  ['short', { content: zeros(64 * 1024), occupiedMax: 64 * 1024 }],
  ['empty', { content: zeros(0), occupiedMax: 0 }],
]);

test('a restore makes holes of zeros when it is asked to, and the same bytes', async () => {
  const repository = await makeTestRepository();
  for (const [name, { content }] of files) writeFileSync(join(repository.source, name), content);
  await repository.backup();
  const target = join(repository.directory, 'sparse');
  const result = await repository.restore({ target, sparse: true });
  expect([result.problems, result.filesRestored]).toEqual([[], files.size]);
  for (const [name, { content, occupiedMax }] of files) {
    const path = join(target, 'source', name);
    expect(readFileSync(path).equals(content), name).toBe(true);
    expect(lstatSync(path).blocks * 512, name).toBeLessThanOrEqual(occupiedMax);
    expect(lstatSync(path).mtimeMs, name).toBe(lstatSync(join(repository.source, name)).mtimeMs);
  }
  // Replacing a file that has no holes leaves nothing of it.
  writeFileSync(join(target, 'source', 'zeros'), noise(5 * MIB + 3));
  await repository.restore({ target, sparse: true, overwrite: 'if-changed' });
  expect(readFileSync(join(target, 'source', 'zeros')).equals(files.get('zeros')!.content)).toBe(true);
});

test('without being asked it writes them', async () => {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'zeros'), zeros(3 * MIB));
  await repository.backup();
  rmSync(join(repository.source, 'zeros'));
  const { target } = await repository.restore();
  expect(lstatSync(join(target, 'source', 'zeros')).blocks * 512).toBeGreaterThanOrEqual(3 * MIB);
});
