import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { makeRclone } from '../../support/rclone.ts';
import type { RcloneStage } from '../../support/rclone.ts';
import { FaultFiles } from './fault-files.ts';
import type { FaultKind, FaultPlan, ServerEvent, StormPlace } from './place.ts';
import { SmallDisk, filesBelow } from './small-disk.ts';

const FILTER = join(import.meta.dirname, 'stream-fault-filter.mjs');

/** A directory that one client reaches through rclone. */
export class RcloneStormPlace implements StormPlace {
  readonly name = 'rclone';
  readonly initOptions: readonly string[] = ['--single-writer'];
  readonly isShared = false;
  // It writes a file under its name from the beginning.
  readonly leavesParts = true;
  readonly kinds: Readonly<Record<string, FaultKind>> = {
    reset: { timesMax: 3 },
    'half request': { timesMax: 3 },
    'lost answer': { timesMax: 3 },
    stall: { ms: 3000 },
    'stall of a minute': { ms: 62_000, countMax: 2 },
    'client killed': {},
  };
  readonly events: Readonly<Record<string, ServerEvent>>;
  readonly #stage: RcloneStage;
  readonly #faults: FaultFiles;

  constructor() {
    this.#stage = makeRclone();
    this.#faults = new FaultFiles(this.#stage.directory);
    const disk = new SmallDisk(join(this.#stage.directory, 'disk'));
    mkdirSync(join(disk.directory, 'repository'));
    this.events = { 'disk full': disk.isFull };
  }

  connect(client: number, plan: FaultPlan | undefined): Readonly<Record<string, string>> {
    const directory = this.#faults.begin(client, plan);
    // A listing of the root is a command of its own, which is not disturbed.
    const serve = `exec "${process.execPath}" "${FILTER}" "${directory}" rclone "$@"`;
    const command = `if [ "$1" = lsjson ]; then exec rclone "$@"; fi; ${serve}`;
    return {
      LDM_REPOSITORY: 'rclone:disk:repository',
      LDM_RCLONE_COMMAND: `sh -c '${command}' rclone`,
      RCLONE_CONFIG: this.#stage.config,
    };
  }

  started(): void {}

  firedCount(client: number): number {
    return this.#faults.firedCount(client);
  }

  isSuspended(): boolean {
    return false;
  }

  async removeLocksOf(): Promise<number> {
    return 0;
  }

  async files(): Promise<ReadonlyMap<string, number>> {
    return filesBelow(join(this.#stage.directory, 'disk/repository'));
  }
}
