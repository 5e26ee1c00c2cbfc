import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { fillToTheLastByte, mountTmpfs } from '../../support/tmpfs.ts';
import type { ServerEvent } from './place.ts';

const DISK_BYTES = 2 ** 29;

/** A disk in memory that becomes full. */
export class SmallDisk {
  readonly directory: string;
  readonly isFull: ServerEvent = {
    run: async (isOver) => await this.#fill(isOver),
    symptom: /no space left|quota|is full|remaining disk space/i,
  };

  constructor(directory: string) {
    this.directory = directory;
    if (!mountTmpfs(directory, DISK_BYTES)) throw new Error('cannot mount a small disk');
  }

  async #fill(isOver: Promise<unknown>): Promise<undefined> {
    const ballast = join(this.directory, 'ballast');
    fillToTheLastByte(ballast);
    await isOver;
    rmSync(ballast);
  }
}

/** The files below a directory, with their sizes. */
export function filesBelow(directory: string): Map<string, number> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const sizes = names.map((name) => [name, statSync(join(directory, name))] as const);
  return new Map(sizes.filter(([, stats]) => stats.isFile()).map(([name, stats]) => [name, stats.size]));
}
