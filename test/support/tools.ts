import { spawnSync } from 'node:child_process';

/** Returns which of these programs are missing, for the reason of a skipped test; an empty text if none is. */
export function missingTools(...names: readonly string[]): string {
  const missing = names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  return missing.length === 0 ? '' : `needs ${missing.join(' and ')}`;
}

/** Runs a program and returns its output. Throws if it fails. */
export function runTool(name: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(name, args, { encoding: 'utf8' });
  if (error !== undefined || status !== 0) throw new Error(`${name} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}
