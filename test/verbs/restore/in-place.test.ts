import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';

import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import type { OverwriteMode, RestoreOptions, RestoreResult } from '../../../src/verbs/restore/restore.ts';
import { NO_ATTRIBUTE_TOOLS } from '../../support/attribute-dump.ts';
import { contentReads } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { replaceCall } from '../../support/replaced-call.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { runTool } from '../../support/tools.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';

/** Smaller files than 1 MiB are replaced. */
const BIG_BYTES = inSoak(1_500_000, 1_100_000);
const TIME = 1_600_000_000;

/** Called before each write to an existing file named `big`. */
const onWrite = { hook: (): void => undefined };

beforeEach(() => {
  onWrite.hook = () => undefined;
  replaceCall(
    'writeSync',
    (writeSync) =>
      ((...given: Parameters<typeof writeSync>) => {
        if (readlinkSync(`/proc/self/fd/${given[0]}`).endsWith('/big')) onWrite.hook();
        return writeSync(...given);
      }) as typeof writeSync,
  );
});

afterEach(() => {
  vi.restoreAllMocks();
});

interface Saved extends TestRepository {
  readonly content: Buffer;
  readonly big: string;
  readonly again: (options?: Partial<RestoreOptions>, changes?: Partial<OperationContext>) => Promise<RestoreResult>;
}

/** A restored large file. */
async function makeSaved(seed = 1): Promise<Saved> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const content = createPrng(seed).bytes(BIG_BYTES);
  const source = join(repository.source, 'big');
  writeFileSync(source, content);
  utimesSync(source, TIME, TIME);
  await repository.backup();
  const target = join(repository.directory, 'target');
  const again: Saved['again'] = async (options = {}, changes = {}) =>
    restore(
      { ...repository.context, ...changes },
      { selector: 'latest:source', target, overwrite: 'if-changed', ...options },
    );
  await again();
  return { ...repository, content, again, big: join(target, 'big') };
}

function expectRestored({ big, content }: Saved): void {
  expect(readFileSync(big).equals(content)).toBe(true);
  expect(lstatSync(big).mtimeMs).toBe(TIME * 1000);
  expect(readdirSync(join(big, '..'))).toEqual(['big']);
}

it.each<OverwriteMode>(['if-changed', 'always'])('--overwrite %s writes only what differs', async (overwrite) => {
  const saved = await makeSaved();
  const changed = Buffer.from(saved.content);
  changed.fill(0, 700_000, 700_010);
  writeFileSync(saved.big, changed);
  const before = lstatSync(saved.big);
  let writeCount = 0;
  onWrite.hook = () => void (writeCount += 1);
  const { bytesRestored, bytesSkipped, problems } = await saved.again({ overwrite });
  expectRestored(saved);
  expect(problems).toEqual([]);
  expect(lstatSync(saved.big).ino).toBe(before.ino);
  expect(bytesRestored).toBeLessThan(20_000);
  expect(bytesRestored + bytesSkipped).toBe(BIG_BYTES);
  expect(writeCount).toBe(1);
});

it.each(seedsOf(inSoak(8, 3), 100))('makes any existing file equal (seed %i)', async (seed) => {
  const saved = await makeSaved(seed);
  const prng = createPrng(seed);
  const pieces: Buffer[] = [];
  for (let offset = 0; offset < BIG_BYTES;) {
    const end = offset + prng.int(300_000);
    pieces.push(prng.int(4) === 0 ? prng.bytes(prng.int(5000)) : saved.content.subarray(offset, end));
    offset = end;
  }
  writeFileSync(saved.big, Buffer.concat(pieces));
  const { problems } = await saved.again({ verify: true });
  expect(problems).toEqual([]);
  expectRestored(saved);
});

it('changes only the time of a file that is the same', async () => {
  const saved = await makeSaved();
  utimesSync(saved.big, 1, 1);
  expect(await saved.again()).toMatchObject({ filesRestored: 1, bytesRestored: 0, bytesSkipped: BIG_BYTES });
  expectRestored(saved);
});

it('replaces a file that has little in common, and one with another name', async () => {
  const saved = await makeSaved();
  writeFileSync(saved.big, createPrng(9).bytes(BIG_BYTES));
  const { ino } = lstatSync(saved.big);
  await saved.again();
  expectRestored(saved);
  expect(lstatSync(saved.big).ino).not.toBe(ino);

  const other = join(saved.directory, 'other-name');
  linkSync(saved.big, other);
  const changed = Buffer.from(saved.content).fill(0, 0, 10);
  writeFileSync(saved.big, changed);
  await saved.again();
  expectRestored(saved);
  expect(readFileSync(other).equals(changed)).toBe(true);
});

const ACCESS: readonly [string, (path: string) => void, string][] = [
  ['mode', (path) => chmodSync(path, 0o666), ''],
  ['owner', (path) => chownSync(path, 65_534, 65_534), isRoot ? '' : NEEDS_ROOT],
  ['group', (path) => chownSync(path, 0, 65_534), isRoot ? '' : NEEDS_ROOT],
  ['ACL', (path) => runTool('setfacl', '-m', 'u:65534:r', path), NO_ATTRIBUTE_TOOLS],
];

it.for(ACCESS)(
  'replaces a file with another %s, which others may have open',
  async ([what, change, reason], { skip }) => {
    const all = [{ overwrite: 'if-changed' }, { overwrite: 'always' }, { xattr: false }] as const;
    // In the suite each has one of them, and the ACL all.
    const turn = ACCESS.findIndex(([name]) => name === what);
    skip(reason !== '', reason);
    const saved = await makeSaved();
    const changed = Buffer.from(saved.content).fill(0, 0, 10);
    for (const options of inSoak(all, all[turn] === undefined ? all : [all[turn]])) {
      writeFileSync(saved.big, changed);
      change(saved.big);
      const descriptor = openSync(saved.big, 'r');
      onTestFinished(() => closeSync(descriptor));
      const before = fstatSync(descriptor);
      expect((await saved.again(options)).problems, what).toEqual([]);
      expectRestored(saved);
      expect(lstatSync(saved.big).ino).not.toBe(before.ino);
      expect(readFileSync(descriptor).equals(changed)).toBe(true);
      expect(fstatSync(descriptor).nlink).toBe(0);
    }
  },
);

it('goes on after it has stopped at any write', async () => {
  const saved = await makeSaved();
  const changed = Buffer.from(saved.content);
  for (let offset = 0; offset < BIG_BYTES; offset += inSoak(200_000, 400_000)) changed.fill(0, offset, offset + 10);
  for (let failAt = 0; ; failAt += 1) {
    writeFileSync(saved.big, changed);
    let writeCount = 0;
    let isFailed = false;
    onWrite.hook = () => {
      writeCount += 1;
      if (writeCount <= failAt) return;
      isFailed = true;
      throw new Error('stopped');
    };
    const result = await saved.again();
    onWrite.hook = () => undefined;
    if (!isFailed) break;
    expect(result.problems).toHaveLength(1);
    // What a kill would leave: every mode takes it for unfinished.
    expect(lstatSync(saved.big).mtimeMs).toBeLessThanOrEqual(0);
    const overwrite = (['if-changed', 'if-newer', 'always'] as const)[failAt % 3]!;
    expect((await saved.again({ overwrite })).problems).toEqual([]);
    expectRestored(saved);
    expect(failAt).toBeLessThan(20);
  }
});

it('leaves the existing file alone if the content cannot be read', async () => {
  const saved = await makeSaved();
  const changed = Buffer.from(saved.content).fill(0, 0, 10).fill(0, 1_000_000, 1_000_010);
  writeFileSync(saved.big, changed);
  const before = lstatSync(saved.big);
  const { backend: disk } = saved.context;
  const backend = contentReads(disk, (name) => {
    throw backendFailure({ location: disk.location, operation: 'readRange', name, errno: 'EIO' });
  });
  const { problems } = await saved.again({ selector: 'latest:source/big' }, { backend });
  expect(problems).toMatchObject([{ path: 'big', code: 'BACKEND' }]);
  expect(readFileSync(saved.big).equals(changed)).toBe(true);
  expect(lstatSync(saved.big).mtimeMs).toBe(before.mtimeMs);
  expect(readdirSync(join(saved.big, '..'))).toEqual(['big']);
});

it('does not write to a file that has changed since it was compared', async () => {
  const saved = await makeSaved();
  writeFileSync(saved.big, Buffer.from(saved.content).fill(0, 0, 10));
  let isReplaced = false;
  const backend = contentReads(saved.context.backend, () => {
    rmSync(saved.big);
    writeFileSync(saved.big, 'mine');
    isReplaced = true;
  });
  const { problems } = await saved.again({}, { backend });
  expect(isReplaced).toBe(true);
  expect(problems.map(({ path }) => path)).toEqual(['big']);
  expect(readFileSync(saved.big, 'utf8')).toBe('mine');
});
