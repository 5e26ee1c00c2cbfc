import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A copy of the project as it stands, with changes that are not committed: the checkout itself never has a bug. */
export class ScratchCopy {
  path = mkdtempSync(join(tmpdir(), 'ldm-mutants-'));
  #original = '';

  constructor(root) {
    const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const names = execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 1e8 }).split('\0');
    // With their times, so that a program that is up to date need not be built again.
    for (const name of [...names, 'dist'].filter((each) => each !== '' && existsSync(join(root, each)))) {
      cpSync(join(root, name), join(this.path, name), { recursive: true, preserveTimestamps: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.path, 'node_modules'));
  }

  put({ file, find, replace }) {
    this.#original = readFileSync(join(this.path, file), 'utf8');
    writeFileSync(
      join(this.path, file),
      this.#original.replace(find, () => replace),
    );
  }

  restore({ file }) {
    writeFileSync(join(this.path, file), this.#original);
  }

  remove() {
    rmSync(this.path, { recursive: true, force: true });
  }
}
