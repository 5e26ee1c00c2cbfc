import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const SETTINGS = ['package.json', 'rolldown.config.js', 'tsconfig.json'];
/** The last that a build makes, if all went well. */
const PROGRAM = join(ROOT, 'dist', 'cli', 'main.js');

/**
 * The set-up of the whole suite: the tests of the program run `dist`, which must be what `src` says. Where it is
 * missing or older it is built; where that fails no test runs, rather than some of them against an old program.
 */
export function setup(): void {
  if (isFresh()) return;
  const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, encoding: 'utf8' });
  if (build.status !== 0) {
    throw new Error(`dist is not what src says, and cannot be built (npm run build):\n${build.stdout}${build.stderr}`);
  }
}

/** A directory counts too: where a file was removed or renamed nothing else is newer. */
function isFresh(): boolean {
  const built = statSync(PROGRAM, { throwIfNoEntry: false });
  if (built === undefined) return false;
  const source = join(ROOT, 'src');
  const sources = ['', ...readdirSync(source, { recursive: true, encoding: 'utf8' })].map((name) => join(source, name));
  const settings = SETTINGS.map((name) => join(ROOT, name));
  return [...sources, ...settings].every((path) => statSync(path).mtimeMs <= built.mtimeMs);
}
