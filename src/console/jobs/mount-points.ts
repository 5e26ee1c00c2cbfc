import { readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

const MOUNTS = '/proc/self/mountinfo';

export function isMountPoint(path: string): boolean {
  const real = realPathOf(path);
  return real !== undefined && mountPoints().has(real);
}

/** Returns where the file system is mounted that has a path, or will have it. */
export function mountPointOf(path: string): string {
  const points = mountPoints();
  let inner = path;
  while (realPathOf(inner) === undefined) inner = dirname(inner);
  inner = realPathOf(inner)!;
  while (!points.has(inner) && inner !== dirname(inner)) inner = dirname(inner);
  return inner;
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Names in the list of mounts have octal numbers for blanks, tabs, line breaks and backslashes. */
function mountPoints(): Set<string> {
  const decode = (name: string): string =>
    name.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  const lines = readFileSync(MOUNTS, 'utf8').split('\n');
  return new Set(lines.map((line) => decode(line.split(' ')[4] ?? '')));
}
