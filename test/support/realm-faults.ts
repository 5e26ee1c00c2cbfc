import { copyFileSync, readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

import type { Prng } from './prng.ts';

export const PLANE_FAULTS = ['plane-removed', 'plane-torn', 'plane-exchanged'] as const;

/** Renames a directory while `action` runs, so that nobody reaches it. */
export async function whileAway<T>(directory: string, action: () => Promise<T>): Promise<T> {
  const away = `${directory}-away`;
  renameSync(directory, away);
  try {
    return await action();
  } finally {
    renameSync(away, directory);
  }
}

/** Damages a random file of the planes in a directory coordinator. Returns what was done, or undefined without a file. */
export function damagePlane(coordinator: string, prng: Prng): (typeof PLANE_FAULTS)[number] | undefined {
  const directory = join(coordinator, 'planes');
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (files.length < 2) return undefined;
  const fault = prng.pick(PLANE_FAULTS);
  const file = prng.pick(files);
  if (fault === 'plane-removed') rmSync(file);
  else if (fault === 'plane-torn') truncateSync(file, prng.int(statSync(file).size));
  else copyFileSync(prng.pick(files.filter((other) => other !== file)), file);
  return fault;
}
