import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';

import { onTestFinished } from 'vitest';

/** A disk with a file system of its own, in an image file. Mounted with `mountAt`, at one place at a time. */
export class Ext4Disk {
  readonly #image: string;
  #place: string | undefined;

  private constructor(image: string) {
    this.#image = image;
  }

  /** Returns undefined where this user may not mount. */
  static make(image: string, place: string, sizeBytes: number): Ext4Disk | undefined {
    writeFileSync(image, '');
    truncateSync(image, sizeBytes);
    if (!succeeds('mkfs.ext4', '-q', '-F', '-b', '1024', '-O', '^has_journal', '-m', '0', image)) return undefined;
    const disk = new Ext4Disk(image);
    if (!disk.#mount(place)) return undefined;
    onTestFinished(() => {
      if (disk.#place !== undefined) spawnSync('umount', ['-l', disk.#place]);
    });
    return disk;
  }

  mountAt(place: string): void {
    if (!this.#mount(place)) throw new Error(`${this.#image} cannot be mounted at ${place}`);
  }

  unmount(): void {
    if (!succeeds('umount', this.#place!)) throw new Error(`${this.#place} cannot be unmounted`);
    this.#place = undefined;
  }

  /** Copies the image as it is on the disk now. */
  copyTo(image: string): void {
    spawnSync('sync', ['-f', this.#place!]);
    copyFileSync(this.#image, image);
  }

  /** Puts the copy of an image in place of the disk. */
  restoreFrom(image: string): void {
    const place = this.#place!;
    this.unmount();
    copyFileSync(image, this.#image);
    this.mountAt(place);
  }

  #mount(place: string): boolean {
    mkdirSync(place, { recursive: true });
    if (!succeeds('mount', '-o', 'loop', this.#image, place)) return false;
    this.#place = place;
    return true;
  }
}

function succeeds(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}
