import { spawnSync } from 'node:child_process';
import { test } from 'vitest';

/** Returns which of these programs are missing, for the reason of a skipped test; an empty text if none is. */
export function missingTools(...names: readonly string[]): string {
  const missing = names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  return missing.length === 0 ? '' : `needs ${missing.join(' and ')}`;
}

/**
 * Returns `test`, for tests that need more than Node. Where that is missing they are skipped, with the first of these
 * reasons that is not empty. Unlike with `skipIf`, the end of the run says why.
 */
export function testNeeding(...reasons: readonly string[]): (name: string, body: () => Promise<void> | void) => void {
  const reason = reasons.find((text) => text !== '') ?? '';
  return (name, body) => {
    test(name, async ({ skip }) => {
      skip(reason !== '', reason);
      await body();
    });
  };
}

/** Runs a program and returns its output. Throws if it fails. */
export function runTool(name: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(name, args, { encoding: 'utf8' });
  if (error !== undefined || status !== 0) throw new Error(`${name} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}
