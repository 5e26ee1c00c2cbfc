import { randomBytes } from 'node:crypto';
import { baseName } from './layout.ts';

const GENERATION_DIGITS = 12;

/** `filter/<generation>-<random>`: sorted by name is sorted by age, and two processes never choose the same. */
export function checkpointName(generation: number): string {
  return `filter/${String(generation).padStart(GENERATION_DIGITS, '0')}-${randomBytes(4).toString('hex')}`;
}

const CHECKPOINT_NAME = /^filter\/\d{12}-[0-9a-f]{8}$/;

/** Whether a name is a checkpoint's; anything else in `filter/` is not ours. */
export function isCheckpointName(name: string): boolean {
  return CHECKPOINT_NAME.test(name);
}

/** One more than the newest of these names. */
export function generationAfter(names: readonly string[]): number {
  const generations = names.map((name) => Number.parseInt(baseName(name), 10));
  return Math.max(0, ...generations.filter((generation) => Number.isSafeInteger(generation))) + 1;
}
