import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A copy of the project as it stands, with changes that are not committed: the checkout itself never has a bug. */
export class ScratchCopy {
  path = mkdtempSync(join(tmpdir(), 'ldm-mutants-'));
  #restore = () => undefined;

  constructor(root) {
    const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const listed = execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 1e8 }).split('\0');
    const names = new Set(listed);
    // It may be a symlink, which git does not ignore.
    for (const name of ['', 'node_modules']) names.delete(name);
    process.on('exit', () => rmSync(this.path, { recursive: true, force: true }));
    // The program is built by the first tests that run. The sources keep their times, which are older than that.
    for (const name of [...names].filter((each) => existsSync(join(root, each)))) {
      cpSync(join(root, name), join(this.path, name), { recursive: true, preserveTimestamps: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.path, 'node_modules'));
  }

  /** Unless `built`, the file keeps its time, so that the program is not built again: most tests do not start it. */
  put({ file, find, replace, built = false }) {
    const path = join(this.path, file);
    const { atime, mtime } = statSync(path);
    const original = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      original.replace(find, () => replace),
    );
    if (!built) utimesSync(path, atime, mtime);
    this.#restore = () => {
      writeFileSync(path, original);
      utimesSync(path, atime, mtime);
      // The next tests build it again.
      if (built) rmSync(join(this.path, 'dist'), { recursive: true, force: true });
    };
  }

  restore() {
    this.#restore();
  }
}
