import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { RESTIC_PASSWORD, makeResticRepository, putSealed } from './make-restic-repository.ts';
import type { ResticKey } from './make-restic-repository.ts';

const version = spawnSync('restic', ['version'], { encoding: 'utf8' });

export const hasRestic: boolean = version.status === 0;
/** Since version 0.16, the oldest snapshot is kept while a rule has counts left. */
export const keepsOldest: boolean = !/ 0\.(\d|1[0-5])\./.test(version.stdout ?? '');

/** A snapshot as restic's `snapshots --json` shows it. */
export interface ResticSnapshot {
  readonly time: string;
  readonly tree: string;
  readonly paths: readonly string[];
  readonly hostname: string;
  readonly username: string;
  readonly tags?: readonly string[];
}

/** One group in the output of `restic forget --json`. */
export interface ResticGroup {
  readonly host: string;
  readonly paths: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly keep: readonly ResticSnapshot[] | null;
  readonly remove: readonly ResticSnapshot[] | null;
  readonly reasons: readonly { readonly snapshot: ResticSnapshot; readonly matches: readonly string[] }[] | null;
}

/**
 * A repository of restic whose snapshot files the test writes itself, sealed with its master key: `restic backup` takes
 * a third of a second for each.
 */
export class ResticRepository {
  readonly #place: string;
  readonly #directory: string;
  readonly #key: ResticKey;

  constructor(directory: string) {
    this.#directory = directory;
    this.#place = join(directory, 'restic');
    this.#key = makeResticRepository(this.#place);
  }

  run(args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync('restic', ['--no-cache', '-r', this.#place, ...args], {
      env: { PATH: process.env['PATH'], HOME: this.#directory, RESTIC_PASSWORD },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    if (status !== 0) throw new Error(`restic ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  addSnapshot(snapshot: ResticSnapshot): void {
    putSealed(join(this.#place, 'snapshots'), this.#key, snapshot);
  }

  /** What a policy would do; nothing if restic refuses it. */
  forget(args: readonly string[]): readonly ResticGroup[] {
    const output = this.run(['forget', '--no-lock', '--dry-run', '--json', ...args]);
    return JSON.parse(output.split('\n').find((line) => line.startsWith('[')) ?? '[]') as readonly ResticGroup[];
  }
}
