// Installs, outside the project, what executables consist of: Node, and the packages of the lock file.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A new one needs a run of the soak: it becomes part of the executables. */
export const NODE_VERSION = '26.12.1';

/** Installs Node for an architecture. Returns the paths of the executable and of its license. */
export function nodeFor(architecture, work) {
  const name = `node-linux-${architecture}`;
  const folder = join(work, name);
  mkdirSync(folder);
  // By force: npm would refuse one for another processor.
  npm(['install', '--no-save', '--force', ...platform(architecture), `${name}@${NODE_VERSION}`], folder);
  const installed = join(folder, 'node_modules', name);
  return { path: join(installed, 'bin/node'), license: join(installed, 'LICENSE') };
}

/** Makes the folder `program`: the package, with what package-lock.json has for this architecture. */
export function installProgram({ root, archive, architecture, program }) {
  mkdirSync(program);
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(root, name), join(program, name));
  npm(['ci', '--omit=dev', ...platform(architecture)], program);
  execFileSync('tar', ['-xzf', archive, '-C', program, '--strip-components=1', '--no-same-owner']);
  for (const name of missingNativeParts(program, architecture)) {
    process.stderr.write(`release: ${name} is not available: programs for ${architecture} do without it\n`);
  }
}

/** npm leaves out optional packages that the registry does not have, without a word. */
function missingNativeParts(program, architecture) {
  const { packages } = JSON.parse(readFileSync(join(program, 'package-lock.json'), 'utf8'));
  const installed = JSON.parse(readFileSync(join(program, 'node_modules/.package-lock.json'), 'utf8')).packages;
  return Object.entries(packages)
    .filter(([, { dev, devOptional }]) => !dev && !devOptional)
    .filter(([, { os, cpu }]) => os?.includes('linux') && cpu?.includes(architecture))
    .map(([folder]) => folder)
    .filter((folder) => !folder.endsWith('-musl') && !(folder in installed))
    .map((folder) => folder.replace('node_modules/', ''));
}

function platform(architecture) {
  return ['--os=linux', `--cpu=${architecture}`, '--libc=glibc'];
}

function npm(args, cwd) {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', [...args, ...quiet], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
