import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { BackendError, LdmError } from '../../src/core/errors.ts';
import { check } from '../../src/verbs/check/check.ts';
import type { Finding } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { drainGroup, rebalanceGroups } from '../../src/core/copies/group-moves.ts';
import { listGroups, setCopies, setGroupState } from '../../src/verbs/group/groups.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { fill, flipByte, packPath, packsAt } from './grouped-repository.ts';
import type { GroupedRepository } from './grouped-repository.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { steppedPlaces } from './stepped-groups.ts';

/** The groups that a repository for the model must have. */
export const MODEL_NAMES: readonly string[] = ['a', 'b', 'c'];

interface ModelRun {
  readonly repository: GroupedRepository;
  readonly prng: Prng;
  readonly log: string[];
}

type Command = (run: ModelRun, context: OperationContext) => Promise<unknown>;

const COMMANDS: Readonly<Record<string, Command>> = {
  backup: async ({ repository, prng }, context) => {
    const name = `file-${prng.int(8)}`;
    fill(repository, name, prng.int(20), 40_000);
    const storesOffline = prng.int(2) === 0;
    await backup(context, { sources: [repository.source], cwd: repository.directory, storesOffline });
  },
  'delete one': async ({ prng }, context) => {
    const snapshots = await listSnapshots(context);
    if (snapshots.length > 2) await deleteSnapshots(context, { selectors: [prng.pick([...snapshots]).id] });
  },
  compact: async ({ prng }, context) => compact(context, { maxUnusedPercent: prng.pick([0, 5, 50]) }),
  rebalance: async (_run, context) => rebalanceGroups(context),
  drain: async ({ prng }, context) => drainGroup(context, prng.pick([...MODEL_NAMES])),
  'want copies': async ({ prng }, context) => setCopies(context, { copies: 1 + prng.int(2) }),
  'want copies by references': async ({ prng }, context) =>
    setCopies(context, { copies: 1, copiesIfRefs: { refs: 2 + prng.int(4), copies: 2 + prng.int(2) } }),
  'damage copies': async ({ repository, prng }) => damageCopies(repository, prng),
  activate: async ({ prng }, context) => setGroupState(context, prng.pick([...MODEL_NAMES]), 'active'),
  repair: async (_run, context) => repair(context),
};

/** Damages one of several copies of some packs. */
function damageCopies({ place }: GroupedRepository, prng: Prng): void {
  const mounted = MODEL_NAMES.filter((name) => existsSync(join(place(name), 'packs')));
  const copies = mounted.flatMap((name) => packsAt(place(name)).map((file) => ({ name, file, id: file.slice(0, 64) })));
  const counts = new Map<string, number>();
  for (const { id } of copies) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const { name, file, id } of copies) {
    const isLast = counts.get(id) === 1;
    if (isLast || prng.int(3) > 0) continue;
    flipByte(packPath(place(name), file), prng.int(500));
    // Another damaged copy of it must not make the last sound one a target.
    counts.set(id, 1);
  }
}

/** Problems of copies are repaired by a repair, and nothing depends on them until then. */
async function findProblems(context: OperationContext): Promise<readonly Finding[]> {
  const { findings } = await check(context, { readData: true });
  if (findings.some(({ kind }) => kind === 'copy-damaged')) await repair(context);
  const ofCopies = new Set<Finding['kind']>(['copy-damaged', 'copies-missing', 'metadata-outdated']);
  return findings.filter(({ kind }) => !ofCopies.has(kind));
}

/** From some operation on a group on, all fail: the process was killed there, as far as the groups can tell. */
function dyingPlaces(
  prng: Prng,
  inner: OperationContext['openPlace'],
): {
  readonly openPlace: OperationContext['openPlace'];
  readonly hasFired: () => boolean;
} {
  let left = prng.int(80);
  let hasFired = false;
  const openPlace = steppedPlaces(async () => {
    left -= 1;
    if (left > 0) return;
    hasFired = true;
    throw new BackendError('killed', { kind: 'other' });
  }, inner);
  return { openPlace, hasFired: () => hasFired };
}

/** Runs a command, sometimes with a group offline or a process that dies. Returns whether it died. */
async function runOne(run: ModelRun): Promise<boolean> {
  const { repository, prng, log } = run;
  const name = prng.pick(Object.keys(COMMANDS));
  const offline = prng.int(4) === 0 ? prng.pick([...MODEL_NAMES]) : undefined;
  const dying = prng.int(3) === 0 ? dyingPlaces(prng, repository.context.openPlace) : undefined;
  if (offline !== undefined) repository.unmount(offline);
  const { context } = repository;
  const error: unknown = await COMMANDS[name]!(
    run,
    dying === undefined ? context : { ...context, openPlace: dying.openPlace },
  ).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (offline !== undefined) repository.mount(offline);
  const hasFired = dying?.hasFired() === true;
  log.push(
    `${name}, offline: ${offline ?? 'none'}, died: ${hasFired}: ${error instanceof Error ? error.message : 'done'}`,
  );
  if (error !== undefined) expect(error, log.join('\n')).toBeInstanceOf(LdmError);
  return hasFired;
}

/**
 * Fails unless the groups lose nothing in any order of commands, offline groups and deaths. Returns how many processes
 * died.
 */
export async function runGroupModel(
  repository: GroupedRepository,
  seed: number,
  commandCount: number,
): Promise<number> {
  const prng = createPrng(seed);
  const log: string[] = [];
  const run: ModelRun = { repository, prng, log };
  let deathCount = 0;
  const { context } = repository;
  fill(repository, 'file-0', 0, 40_000);
  await repository.backup();
  for (let step = 0; step < commandCount; step += 1) {
    if (await runOne(run)) deathCount += 1;
    expect(await findProblems(context), log.join('\n')).toEqual([]);
    expect((await listGroups(context)).missingPacks, log.join('\n')).toBe(0);
  }
  for (const { id } of await listSnapshots(context)) {
    const target = join(repository.directory, 'restored');
    expect((await repository.restore({ selector: id, target })).problems, log.join('\n')).toEqual([]);
    rmSync(target, { recursive: true });
  }
  for (const name of MODEL_NAMES) await setGroupState(context, name, 'active');
  await setCopies(context, { copies: 2 });
  await repository.backup();
  await rebalanceGroups(context);
  for (const name of MODEL_NAMES) {
    repository.unmount(name);
    await repository.expectRestored();
    repository.mount(name);
  }
  await repository.expectRestored();
  await compact(context, { maxUnusedPercent: 0 });
  expect((await listGroups(context)).surplusCopies).toBe(0);
  await repository.expectClean();
  return deathCount;
}
