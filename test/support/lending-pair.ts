import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { exitCodeOfRestore } from '../../src/verbs/restore/report.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../src/core/saving/backup-result.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { withRepository } from '../../src/core/session/session.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { borrowedPacksOf, readBorrowedBlocks } from '../../src/realm/lending/borrowed-packs.ts';
import { joinRealm } from '../../src/realm/verbs/realm/join.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import type { SnapshotListing } from '../../src/verbs/snapshots/snapshots.ts';
import { diffTrees } from './compare-trees.ts';
import { createPrng } from './prng.ts';
import { KeptTree } from './kept-tree.ts';
import { OPTIONS, SMALL_CAPACITY, newRealm, realmFile } from './realm.ts';
import type { Kind } from './realm.ts';
import { SMALL_SIZES } from './simulated-process.ts';
import { memoryDirectory, removeTree } from './temp-directory.ts';
import { testPassword } from './test-password.ts';
import { threadsOfTests } from './test-threads.ts';

/** A member of a realm, with its repository in a directory. */
export interface Member {
  readonly name: string;
  readonly place: string;
  readonly context: OperationContext & { readonly backend: LocalBackend };
  /** Everything that its operations said so far. */
  readonly notices: Notice[];
  /** `as`: its context with other ways to reach a repository. */
  backUp(source: string, options?: Partial<BackupOptions>, as?: OperationContext): Promise<BackupResult>;
  /** Without holds. */
  snapshots(): Promise<readonly SnapshotListing[]>;
  holds(): Promise<readonly SnapshotListing[]>;
  /** Fails unless the newest snapshot gives `source` back. */
  expectRestored(source: string): Promise<void>;
  /** The kinds of what a check finds. By default it reads every byte. */
  findings(readsData?: boolean): Promise<readonly string[]>;
}

export interface TestRealm {
  readonly directory: string;
  readonly coordinator: string;
  /** `capacity`: for so many chunks its filter does not grow. */
  join(name: string, capacity?: number): Promise<Member>;
  /** A new directory with so many random files of `sizeBytes`. */
  files(count: number, seed: number, sizeBytes?: number): string;
}

/** A realm whose members have a directory in common, and the same password. */
export async function makeRealm(kind: Kind): Promise<TestRealm> {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'coordinator'));
  await newRealm(kind, {}, directory);
  return realmAt(directory, kind, passwordOf(kind));
}

/** In whole seconds, which a copy of a tree keeps. */
const SOURCE_TIME = new Date('2026-01-02T03:04:05Z');

type Password = OperationContext['password'];

/** One for all members of a realm: what it has unlocked is remembered. */
function passwordOf(kind: Kind): Password {
  return kind === 'encrypted' ? testPassword('of all members') : undefined;
}

function realmAt(directory: string, kind: Kind, password: Password): TestRealm {
  const coordinator = join(directory, 'coordinator');
  return {
    directory,
    coordinator,
    join: async (name, capacity = SMALL_CAPACITY) => {
      const member = makeMember(name, join(directory, name), password);
      await initRepository(member.context, { capacity, ...OPTIONS[kind], realm: { file: realmFile(directory) } });
      await joinRealm(member.context, { coordinator, name });
      return member;
    },
    files: (count, seed, sizeBytes = 20_000) => {
      const source = join(directory, `source-${seed}`);
      mkdirSync(source);
      const prng = createPrng(seed);
      const paths = Array.from({ length: count }, (_, index) => join(source, `file-${index}`));
      for (const path of paths) writeFileSync(path, prng.bytes(sizeBytes));
      for (const path of [...paths, source]) utimesSync(path, SOURCE_TIME, SOURCE_TIME);
      return source;
    },
  };
}

/** What was made once for all tests of a process, by kind and name. */
const kept = new Map<string, KeptTree>();

/**
 * A realm of these members, which `fill` has filled. It is made once, and then made again from memory: at the same path,
 * which the members have told the realm.
 */
export async function makeKept(
  kind: Kind,
  names: readonly string[],
  fill: (realm: TestRealm, members: readonly Member[]) => Promise<unknown> = async () => undefined,
): Promise<{ readonly realm: TestRealm; readonly members: readonly Member[] }> {
  const key = [kind, ...names].join(' ');
  if (!kept.has(key)) {
    const made = await makeRealm(kind);
    const members: Member[] = [];
    for (const name of names) members.push(await made.join(name));
    await fill(made, members);
    kept.set(key, new KeptTree(made.directory));
    removeTree(made.directory);
  }
  const directory = kept.get(key)!.restore();
  onTestFinished(() => removeTree(directory));
  const password = passwordOf(kind);
  return {
    realm: realmAt(directory, kind, password),
    members: names.map((name) => makeMember(name, join(directory, name), password)),
  };
}

function makeMember(name: string, place: string, password: Password): Member {
  const notices: Notice[] = [];
  const onNotice = (notice: Notice): void => void notices.push(notice);
  const options = {
    onNotice,
    ...(password === undefined ? {} : { password }),
    threads: threadsOfTests(),
    storeSizes: SMALL_SIZES,
  };
  const context = { backend: new LocalBackend(place), ...options };
  const list = async (): Promise<readonly SnapshotListing[]> => listSnapshots(context);
  return {
    name,
    place,
    context,
    notices,
    backUp: async (source, given = {}, as = context) => backup(as, { sources: [source], cwd: '/', ...given }),
    snapshots: async () => (await list()).filter(({ snapshot }) => snapshot.hold === undefined),
    holds: async () => (await list()).filter(({ snapshot }) => snapshot.hold !== undefined),
    expectRestored: async (source) => {
      const target = memoryDirectory();
      const result = await restore(context, { selector: 'latest', target });
      const differences = diffTrees(source, join(target, source.slice(source.lastIndexOf('/') + 1)));
      if (exitCodeOfRestore(result) !== 0 || differences.length > 0)
        throw new Error(`not restored: ${JSON.stringify([result.problems, differences])}`);
    },
    findings: async (readsData = true) => {
      const { findings } = await check(context, readsData ? { readData: true } : {});
      return findings.map(({ kind }) => kind);
    },
  };
}

/** Reclaims everything. */
export const ALL = { maxUnusedPercent: 0 };

export interface Setting {
  readonly realm: TestRealm;
  readonly owner: Member;
  readonly holder: Member;
  /** What the owner has. */
  readonly source: string;
}

/** A realm of two members, of which one has a snapshot. */
export async function makeSetting(kind: Kind = 'plain'): Promise<Setting> {
  const { realm, members } = await makeKept(kind, ['owner', 'holder'], async (made, [owner]) =>
    owner!.backUp(made.files(5, 1)),
  );
  return { realm, owner: members[0]!, holder: members[1]!, source: join(realm.directory, 'source-1') };
}

/** A realm of three members, of which one relies on both others. `other`: what the third one has. */
export async function makeTwoLoans(): Promise<Setting & { readonly third: Member; readonly other: string }> {
  const { realm, members } = await makeKept(
    'plain',
    ['owner', 'holder', 'third'],
    async (made, [owner, holder, third]) => {
      const [source, other] = [made.files(5, 1), made.files(2, 9)];
      await owner!.backUp(source);
      await third!.backUp(other);
      await holder!.backUp(source, { reliesOn: 'owner' });
      await holder!.backUp(other, { reliesOn: 'third' });
    },
  );
  const [owner, holder, third] = members as [Member, Member, Member];
  const [source, other] = ['source-1', 'source-9'].map((name) => join(realm.directory, name)) as [string, string];
  return { realm, owner, holder, third, source, other };
}

/** Deletes all backups of a member, and reclaims their space. */
export async function deleteAll(member: Member): Promise<void> {
  const selectors = (await member.snapshots()).map(({ id }) => id);
  await deleteSnapshots(member.context, { selectors });
  await compact(member.context, ALL);
}

export function kindsOf({ notices }: Member): readonly string[] {
  return notices.map(({ kind }) => kind);
}

/** The ids in the packs of borrowed chunks. */
export async function borrowedIds(member: Member): Promise<Buffer> {
  return await withRepository(member.context, 'read', async (repository) => {
    const { state } = await repository.openState();
    const ids: Uint8Array[] = [];
    for await (const { chunkIds } of readBorrowedBlocks(repository, borrowedPacksOf(state))) ids.push(chunkIds);
    return Buffer.concat(ids);
  });
}

/** The ids of the chunks that snapshots of a member need, as its filter has them. */
export async function liveIdsOf({ context }: Member): Promise<Uint8Array[]> {
  return await withRepository(context, 'read', async (repository) => {
    const { filter } = (await repository.openState()).state;
    const ids: Uint8Array[] = [];
    filter.forEachEntry((entry) => {
      const id = new Uint8Array(20);
      filter.copyId(entry, id, 0);
      if (filter.refs(entry) > 0) ids.push(id);
    });
    return ids;
  });
}

/** What ends the holds that a member has placed: their secrets. */
export function holdKeysOf({ place }: Member): string[] {
  const notes = join(place, 'holds');
  return readdirSync(notes).map((name) => readFileSync(join(notes, name), 'latin1').trim());
}
