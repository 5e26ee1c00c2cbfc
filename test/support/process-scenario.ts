import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { check } from '../../src/verbs/check/check.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { makeEndlessHome } from '../cli/endless-backup.ts';
import { startLdm } from '../cli/start-ldm.ts';
import type { RunningLdm } from '../cli/start-ldm.ts';
import { describeTree, diffTrees } from './compare-trees.ts';
import { openFilesOf } from './open-files.ts';
import { runLdmHere } from './run-ldm-here.ts';
import { runLdm } from './run-ldm.ts';
import type { RunLdmOptions, RunLdmResult } from './run-ldm.ts';
import { waitUntil } from './wait-until.ts';

/** A repository that several real processes work on, and a directory `work` of which a backup finds no end. */
export interface ProcessScenario {
  readonly home: string;
  readonly repository: string;
  readonly run: (...args: readonly string[]) => Promise<RunLdmResult>;
  /** As `run`; fails unless the exit code is 0. */
  readonly runWell: (...args: readonly string[]) => Promise<RunLdmResult>;
  /** The same in this process, where it is one more beside those of the scenario. */
  readonly runHere: (...args: readonly string[]) => Promise<RunLdmResult>;
  readonly runWellHere: (...args: readonly string[]) => Promise<RunLdmResult>;
  readonly start: (...args: readonly string[]) => RunningLdm;
  /** Backs a directory up in this process and remembers what it looked like. Returns the id of the snapshot. */
  readonly backup: (directory: string, ...args: readonly string[]) => Promise<string>;
  /** The same in a process of its own, for several at the same time. */
  readonly backupBuilt: (directory: string, ...args: readonly string[]) => Promise<string>;
  /** What `run` and `backupBuilt` do, by a program that is started with these options. */
  readonly startedWith: (options: StartOptions) => Pick<ProcessScenario, 'run' | 'backup'>;
  /** A backup of `work` that is suspended in the middle: it holds a lock and has opened the filter. */
  readonly startSuspendedBackup: () => Promise<SuspendedBackup>;
  readonly lockNames: () => string[];
  readonly snapshotIds: () => string[];
  /** Fails unless the repository is whole and each snapshot of `backup` restores as it was. */
  readonly expectWhole: () => Promise<void>;
}

type StartOptions = Pick<RunLdmOptions, 'env' | 'onStart'>;

export interface SuspendedBackup {
  readonly running: RunningLdm;
  readonly lockName: string;
  /** Lets it go on, to the end of a file that has one now. Returns the exit code. */
  readonly finish: () => Promise<number | null>;
}

export async function makeProcessScenario(): Promise<ProcessScenario> {
  const home = makeEndlessHome();
  const repository = join(home, 'repository');
  const expected = new Map<string, Expected>();
  const surroundings = { cwd: home, env: { LDM_REPOSITORY: repository, XDG_STATE_HOME: join(home, 'state') } };
  const runWith =
    ({ env, ...options }: StartOptions): ProcessScenario['run'] =>
    async (...args) =>
      await runLdm(args, { ...surroundings, ...options, env: { ...surroundings.env, ...env } });
  const run = runWith({});
  const runHere = async (...args: readonly string[]): Promise<RunLdmResult> => await runLdmHere(args, surroundings);
  const well =
    (inner: ProcessScenario['run']): ProcessScenario['runWell'] =>
    async (...args) => {
      const result = await inner(...args);
      expect(result.stderr, args.join(' ')).toBe('');
      expect(result.code, `${args.join(' ')}\n${result.stdout}`).toBe(0);
      return result;
    };
  const start = (...args: readonly string[]): RunningLdm => startLdm(args, { home, env: surroundings.env });
  const backUp =
    (inner: ProcessScenario['run']): ProcessScenario['backup'] =>
    async (directory, ...args) => {
      const tree = describeTree(directory);
      const { code, stdout, stderr } = await inner('backup', directory, '--json', ...args);
      expect(code, stderr).toBe(0);
      const id = idFrom(stdout);
      expected.set(id, { name: directory.slice(directory.lastIndexOf('/') + 1), tree });
      return id;
    };
  const namesIn = (directory: string): string[] => readdirSync(join(repository, directory));
  await well(runHere)('init', '--no-encryption', '--capacity', '4096');
  return {
    home,
    repository,
    run,
    runWell: well(run),
    runHere,
    runWellHere: well(runHere),
    start,
    backup: backUp(runHere),
    backupBuilt: backUp(run),
    startedWith: (options) => ({ run: runWith(options), backup: backUp(runWith(options)) }),
    startSuspendedBackup: async () => await suspendBackup(start('backup', join(home, 'work')), { home, repository }),
    lockNames: () => namesIn('locks'),
    snapshotIds: () => namesIn('snapshots'),
    expectWhole: async () => await expectWhole({ home, repository, expected }),
  };
}

interface Expected {
  readonly name: string;
  readonly tree: ReadonlyMap<string, string>;
}

/** Read by the process of the test, which is one more for those of the scenario: it need not start others for that. */
async function expectWhole(given: {
  readonly home: string;
  readonly repository: string;
  readonly expected: ReadonlyMap<string, Expected>;
}): Promise<void> {
  const { home, repository, expected } = given;
  const backend = new LocalBackend(repository);
  const notices: Notice[] = [];
  const context: OperationContext = { backend, onNotice: (notice) => void notices.push(notice) };
  expect((await check(context, { readData: true })).findings).toEqual([]);
  for (const id of readdirSync(join(repository, 'snapshots'))) {
    const snapshot = expected.get(id);
    if (snapshot === undefined) continue;
    const target = join(home, 'restored', id);
    const { problems } = await restore(context, { selector: id, target, overwrite: 'if-changed' });
    expect(problems, id).toEqual([]);
    expect(diffTrees(snapshot.tree, join(target, snapshot.name)), id).toEqual([]);
  }
  expect(notices).toEqual([]);
  await backend.close();
}

/** The snapshot that `backup --json` made. */
export function idFrom(stdout: string): string {
  const id = /"snapshot_id":"([0-9a-f]{64})"/.exec(stdout)?.[1];
  if (id === undefined) throw new Error(`no snapshot in ${stdout}`);
  return id;
}

async function suspendBackup(
  running: RunningLdm,
  { home, repository }: { home: string; repository: string },
): Promise<SuspendedBackup> {
  const pid = running.child.pid!;
  const endless = join(home, 'work', 'zeros');
  await waitUntil(() => openFilesOf(pid).includes(endless), 'the backup coming to the endless file');
  running.child.kill('SIGSTOP');
  await waitUntil(() => openFilesOf(pid).includes(endless), 'the endless file being open');
  const lockName = readdirSync(join(repository, 'locks')).find((name) => name.includes(`_${pid}_`))!;
  return {
    running,
    lockName,
    finish: async () => {
      truncateSync(endless, 1000);
      running.child.kill('SIGCONT');
      return (await running.ended).code;
    },
  };
}
