import { spawnSync } from 'node:child_process';

import { onTestFinished } from 'vitest';

/** Beyond the longest path of the system, only a walk with relative names gets on; hence a process of its own. */
const MAKE = `
const { mkdirSync, writeFileSync } = require('node:fs');
const [top, depth] = process.argv.slice(1);
process.chdir(top);
for (let level = 0; level < depth; level += 1) {
  const name = String(level).padEnd(250, '-');
  mkdirSync(name);
  process.chdir(name);
  if (level % 100 === 99) writeFileSync('file', 'at level ' + level);
}`;

const DESCRIBE = `
const { lstatSync, readFileSync, readdirSync } = require('node:fs');
const hash = require('node:crypto').createHash('sha256');
process.chdir(process.argv[1]);
let depth = 0;
for (let inner; ; depth += 1) {
  inner = undefined;
  for (const name of readdirSync('.').sort()) {
    const { mode, mtimeNs } = lstatSync(name, { bigint: true });
    hash.update(name + ' ' + mode + ' ' + mtimeNs + ' ');
    if (name === 'file') hash.update(readFileSync(name));
    else inner = name;
  }
  if (inner === undefined) break;
  process.chdir(inner);
}
process.stdout.write(depth + ' levels ' + hash.digest('hex'));`;

/** Makes directories in each other, with names of 250 bytes, and files in some of them. */
export function makeDeepTree(top: string, depth: number): void {
  // Node's own removal ends at the longest path of the system.
  onTestFinished(() => removeTree(top));
  runScript(MAKE, top, String(depth));
}

/** The number of levels below `top`, and a digest of all names, modes, times and contents. */
export function describeDeepTree(top: string): string {
  return runScript(DESCRIBE, top);
}

/** Removes a tree of any depth. */
export function removeTree(top: string): void {
  spawnSync('rm', ['-rf', top]);
}

function runScript(script: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
