import { randomBytes } from 'node:crypto';
import { baseName } from '../format/layout.ts';

const GENERATION_DIGITS = 12;

/** `filter/<generation>-<random>`: sorting by name sorts by age, and two processes never choose the same name. */
export function checkpointName(generation: number): string {
  return `filter/${String(generation).padStart(GENERATION_DIGITS, '0')}-${randomBytes(4).toString('hex')}`;
}

const CHECKPOINT_NAME = /^filter\/\d{12}-[0-9a-f]{8}$/;

/** Returns whether a name is that of a checkpoint. Other files in `filter/` do not belong to ldm. */
export function isCheckpointName(name: string): boolean {
  return CHECKPOINT_NAME.test(name);
}

/** Returns the generation after the newest of these checkpoints. */
export function generationAfter(names: readonly string[]): number {
  const generations = names.map((name) => Number.parseInt(baseName(name), 10));
  return Math.max(0, ...generations.filter((generation) => Number.isSafeInteger(generation))) + 1;
}
