import { lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { TargetError } from '../../../src/core/errors.ts';
import { createTargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { createPrng } from '../../support/prng.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { NEEDS_ROOT, isRoot } from '../../support/unprivileged.ts';
import { takeThreadsAway, threadsOfTests } from '../../support/test-threads.ts';
import { WatchedWrites, expectFile, metadataOf } from './watched-writes.ts';

const KIB = 1024;
const prng = createPrng(20261120);

describe.each(['by the caller', 'by threads'])('files written behind %s', (where) => {
  beforeAll(() => {
    if (where === 'by the caller') return takeThreadsAway();
    threadsOfTests().prepare();
    return undefined;
  });

  test('are whole, whatever their sizes, and told in the order in which they came', async () => {
    const watched = new WatchedWrites();
    const directory = temporaryDirectory();
    const sizes = [
      0,
      1,
      256 * KIB,
      256 * KIB,
      256 * KIB - 1,
      0,
      ...Array.from({ length: 900 }, () => prng.int(8 * KIB)),
    ];
    const files = sizes.map((size, index) => ({ path: join(directory, `f${index}`), content: prng.bytes(size) }));
    for (const { path, content } of files) {
      await watched.behind.makeRoom();
      watched.add(path, content);
    }
    // There is an end to what is on its way.
    expect(watched.outcomes.length).toBeGreaterThan(300);
    await watched.behind.finish();
    expect(watched.outcomes).toEqual(files.map(({ path }) => ({ path, failure: undefined })));
    for (const { path, content } of files) expectFile(path, content);
    expect(readdirSync(directory)).toHaveLength(files.length);
  });

  test('that cannot be written are told with the reason, and the others are there', async () => {
    const watched = new WatchedWrites();
    const directory = temporaryDirectory();
    const content = prng.bytes(1000);
    const [taken, replaced] = [join(directory, 'taken'), join(directory, 'replaced')];
    const absent = join(directory, 'absent', 'file');
    for (const path of [taken, replaced]) writeFileSync(path, 'theirs');
    mkdirSync(join(directory, 'directory'));
    watched.add(join(directory, 'first'), content);
    watched.add(taken, content);
    watched.add(absent, content);
    watched.add(replaced, content, { replaces: true });
    watched.add(join(directory, 'directory'), content, { replaces: true });
    const last = prng.bytes(2000);
    watched.add(join(directory, 'last'), last);
    await watched.behind.finish();
    const failed = watched.outcomes.filter(({ error }) => error !== undefined);
    expect(failed.map(({ path, error }) => [path, error instanceof TargetError && error.errno])).toEqual([
      [taken, undefined],
      [absent, 'ENOENT'],
      [join(directory, 'directory'), 'EISDIR'],
    ]);
    expect((failed[1]!.error as TargetError).message).toContain(dirname(absent));
    expect(readFileSync(taken, 'utf8')).toBe('theirs');
    for (const path of ['first', 'replaced']) expectFile(join(directory, path), content);
    expectFile(join(directory, 'last'), last);
    expect(readdirSync(directory).toSorted()).toEqual(['directory', 'first', 'last', 'replaced', 'taken']);
  });

  test('whose metadata cannot be set are there, and told', async () => {
    const watched = new WatchedWrites();
    const directory = temporaryDirectory();
    const contents = [10, 2000, 300].map((sizeBytes) => prng.bytes(sizeBytes));
    for (const [index, content] of contents.entries()) {
      watched.add(join(directory, `f${index}`), content, { metadata: metadataOf({ mtimeNanoseconds: 2_000_000_000 }) });
    }
    await watched.behind.finish();
    expect(watched.outcomes).toHaveLength(3);
    for (const [index, { failure, path }] of watched.outcomes.entries()) {
      expect(failure).toBeInstanceOf(TargetError);
      expect(failure!.message).toContain('cannot set the time of');
      expect(readFileSync(path).equals(contents[index]!)).toBe(true);
    }
    expect(readdirSync(directory)).toHaveLength(3);
  });

  test('get a group of ours also where they are not given to their owners', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const watched = new WatchedWrites({ ...createTargetPolicy(), setsOwners: false, ownGroups: new Set([4321]) });
    const directory = temporaryDirectory();
    for (const gid of [4321, 4322])
      watched.add(join(directory, `${gid}`), prng.bytes(10), { metadata: metadataOf({ gid }) });
    await watched.behind.finish();
    expect(lstatSync(join(directory, '4321')).gid).toBe(4321);
    expect(lstatSync(join(directory, '4322')).gid).toBe(process.getgid!());
  });

  test('belong to whom the policy says', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const names = {
      userId: () => 1234,
      groupId: () => 5678,
      userName: () => '' as ByteString,
      groupName: () => '' as ByteString,
    };
    const watched = new WatchedWrites({
      ...createTargetPolicy(),
      byName: { names, unknownUsers: new Set(), unknownGroups: new Set() },
    });
    const path = join(temporaryDirectory(), 'file');
    watched.add(path, prng.bytes(10));
    await watched.behind.finish();
    expect(lstatSync(path)).toMatchObject({ uid: 1234, gid: 5678 });
  });

  test('that cannot be read leave nothing behind, and nobody waits for them', async () => {
    const writeFiles = (): never => expect.fail('nothing is to be written');
    const { behind } = new WatchedWrites(undefined, { writeFiles });
    behind.roomFor(100);
    behind.start();
    await behind.finish();
    behind.roomFor(100);
    await behind.stop();
  });
});
