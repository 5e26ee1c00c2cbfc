import { lstatSync } from 'node:fs';
import type { Prng } from './prng.ts';

/** Paths are latin1 strings here; the file system takes their bytes. */
export function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

/** A path as the tree helpers keep it: one character per byte. */
export function latin1Of(path: string): string {
  return Buffer.from(path).toString('latin1');
}

/** Text that compresses: lines of a few words. */
export function makeText(prng: Prng, sizeBytes: number): Buffer {
  const words = ['chunk', 'pack', 'segment', 'snapshot', 'tree', 'filter', 'link', 'position', 'count', 'return'];
  let text = '';
  while (text.length < sizeBytes)
    text += `${prng.pick(words)}${prng.int(5) === 0 ? '\n' : ' '}${prng.int(9) === 0 ? prng.next() : ''}`;
  return Buffer.from(text.slice(0, sizeBytes));
}

/** Whether something, even a dangling link, has this name. */
export function hasEntry(path: string): boolean {
  return lstatSync(bytesOf(path), { throwIfNoEntry: false }) !== undefined;
}
