import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { exitCodeOfCheck } from '../../../src/verbs/check/report.ts';
import { CancelledError, LdmError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import type { StrangerKeys } from '../../core/format/stranger-crypto.ts';
import { contextOf } from '../encrypted-stage.ts';
import type { MemoryBackend } from '../memory-backend.ts';
import { withTemporaryDirectory } from '../temp-directory.ts';
import { COMPARED_PATH_BYTES, Oracle } from './oracle.ts';
import type { Expected } from './oracle.ts';

/** What no command may exceed on a repository of a few kilobytes. */
export interface Limits {
  /** Of processor time, which does not depend on what else the machine does. */
  readonly seconds: number;
  /** Above what the process had before. */
  readonly mebibytes: number;
  /** Commands whose work has no bound, such as a listing of 10^9 paths, are interrupted after this time. */
  readonly interruptAfterMs?: number;
}

const LIMITS: Limits = { seconds: 20, mebibytes: 400 };

/** The keys of a hostile repository, and what a backup adds to it. */
export interface Subject {
  readonly opened: { readonly keys: StrangerKeys };
  readonly password: PasswordSource;
  /** Everything in it is backed up. */
  readonly directory: string;
}

/** What became of a hostile repository. */
export interface Outcome {
  /** What no command may do. */
  readonly failures: readonly string[];
  /** Whether a check found nothing. */
  readonly isClean: boolean;
}

/** Runs every command that reads a hostile repository, and a backup unless only `readers` are wanted. */
export async function runOrdeal(
  disk: MemoryBackend,
  subject: Subject,
  limits: Partial<Limits> = {},
  only?: 'readers',
): Promise<Outcome> {
  const ordeal = new Ordeal(subject, { ...LIMITS, ...limits });
  await ordeal.readEverything(disk.copy());
  if (only !== 'readers') await ordeal.addTo(disk.copy());
  return ordeal;
}

class Ordeal implements Outcome {
  readonly failures: string[] = [];
  readonly #subject: Subject;
  readonly #limits: Limits;
  isClean = false;

  constructor(subject: Subject, limits: Limits) {
    this.#subject = subject;
    this.#limits = limits;
  }

  async readEverything(disk: MemoryBackend): Promise<void> {
    const checked = await this.#run('check', disk, async (context) => check(context, { readData: true }));
    this.isClean = checked !== undefined && exitCodeOfCheck(checked) === 0;
    await this.#run('repair -n', disk, async (context) => repair(context, { dryRun: true }));
    await this.#run('compact -n', disk, async (context) => compact(context, { dryRun: true, maxUnusedPercent: 0 }));
    const listings = (await this.#run('snapshots', disk, async (context) => listSnapshots(context))) ?? [];
    const oracle = Oracle.open(disk, this.#subject.opened.keys);
    // Of many, a few.
    for (const { id } of listings.slice(0, 5)) {
      await this.#run('ls', disk, async (context) =>
        listFiles(context, { selector: id, recursive: true }, () => undefined),
      );
      await this.#restore(disk, id, () => oracle?.expected(id));
    }
  }

  /** A backup may fail, but a snapshot that it makes has what was backed up. */
  async addTo(disk: MemoryBackend): Promise<void> {
    const { directory } = this.#subject;
    const sources = readdirSync(directory).map((name) => join(directory, name));
    const result = await this.#run('backup', disk, async (context) => backup(context, { sources, cwd: '/' }));
    if (result?.snapshotId === undefined) return;
    await this.#restore(disk, result.snapshotId, () => contentsOf(directory));
  }

  async #restore(disk: MemoryBackend, id: string, expected: () => Expected | undefined): Promise<void> {
    await withTemporaryDirectory(async (directory) => {
      const [sandbox, target] = [join(directory, 'sandbox'), join(directory, 'sandbox', 'target')];
      mkdirSync(sandbox);
      for (const place of [directory, sandbox]) writeFileSync(join(place, 'canary'), 'canary');
      const result = await this.#run('restore', disk, async (context) => restore(context, { selector: id, target }));
      this.#findStrangers(directory, sandbox);
      const isWhole = result !== undefined && exitCodeOfRestore(result) === 0;
      // What the system refuses to write is not the fault of the repository.
      const lost = result?.problems.find(({ code }) => code === 'CORRUPT_DATA')?.message;
      const isInterrupted = this.#limits.interruptAfterMs !== undefined;
      if (this.isClean && !isInterrupted && (result === undefined || lost !== undefined)) {
        this.failures.push(`restore of ${id}: fails, although a check found nothing: ${lost}`);
      }
      if (!isWhole) return;
      this.failures.push(...differences(expected(), contentsOf(target)).map((each) => `restore of ${id}: ${each}`));
    });
  }

  /** Around its target, a restore changes nothing. */
  #findStrangers(...places: readonly string[]): void {
    for (const place of places) {
      const names = readdirSync(place).filter((name) => !['canary', 'sandbox', 'target'].includes(name));
      const isAlive = readFileSync(join(place, 'canary'), 'utf8') === 'canary';
      if (names.length > 0 || !isAlive) this.failures.push(`restore: left its target: ${names.join()}`);
    }
  }

  /** Runs a command. Returns undefined if it fails as it may. */
  async #run<T>(
    name: string,
    disk: MemoryBackend,
    command: (context: OperationContext) => Promise<T>,
  ): Promise<T | undefined> {
    const { seconds, mebibytes, interruptAfterMs } = this.#limits;
    const usageBefore = process.cpuUsage();
    const peakBefore = process.resourceUsage().maxRSS;
    const controller = new AbortController();
    const timer =
      interruptAfterMs === undefined
        ? undefined
        : setTimeout(() => controller.abort(new CancelledError('SIGINT')), interruptAfterMs);
    try {
      return await command({ ...contextOf(disk, this.#subject.password), signal: controller.signal });
    } catch (error) {
      if (!(error instanceof LdmError)) this.failures.push(`${name}: ${(error as Error).stack ?? String(error)}`);
      return undefined;
    } finally {
      clearTimeout(timer);
      const { user, system } = process.cpuUsage(usageBefore);
      const took = (user + system) / 1e6;
      const grown = (process.resourceUsage().maxRSS - peakBefore) / 1024;
      if (took > seconds) this.failures.push(`${name}: took ${took.toFixed(1)} s`);
      if (grown > mebibytes) this.failures.push(`${name}: used ${grown.toFixed(0)} MiB more`);
    }
  }
}

/** Files, links and other entries below a directory; names have one character per byte. */
export function contentsOf(directory: string): Map<string, Buffer | string> {
  const found = new Map<string, Buffer | string>();
  const visit = (path: Buffer, prefix: string): void => {
    for (const name of readdirSync(path, { encoding: 'buffer' })) {
      const [inner, shown] = [Buffer.concat([path, Buffer.from('/'), name]), `${prefix}${name.toString('latin1')}`];
      const stats = lstatSync(inner);
      if (stats.isFile()) found.set(shown, readFileSync(inner));
      else if (stats.isSymbolicLink()) {
        found.set(shown, `-> ${readlinkSync(inner, { encoding: 'buffer' }).toString('latin1')}`);
      } else found.set(shown, stats.isDirectory() ? '2' : stats.isFIFO() ? '4' : stats.isCharacterDevice() ? '5' : '6');
      if (stats.isDirectory() && shown.length < COMPARED_PATH_BYTES) visit(inner, `${shown}/`);
    }
  };
  visit(Buffer.from(directory), '');
  return found;
}

function differences(expected: Expected | undefined, actual: Expected): string[] {
  if (expected === undefined) return ['succeeds, although the snapshot is not whole'];
  const isSame = (a: Buffer | string | undefined, b: Buffer | string | undefined): boolean =>
    typeof a === 'object' && typeof b === 'object' ? a.equals(b) : a === b;
  const paths = new Set([...expected.keys(), ...actual.keys()]);
  return [...paths]
    .filter((path) => !isSame(expected.get(path), actual.get(path)))
    .map((path) => `${JSON.stringify(path)} is not what is in the repository`);
}
