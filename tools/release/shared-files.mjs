// Man pages, completions and licenses, in a folder `share` as the system has it.
import { execFileSync } from 'node:child_process';
import { cpSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where shells look for completions. Packages of Debian have their own folder for zsh. */
const COMPLETIONS = {
  bash: 'bash-completion/completions/ldm',
  zsh: 'zsh/site-functions/_ldm',
  fish: 'fish/vendor_completions.d/ldm.fish',
};

/** `program` is the installed package, `ldm` a command that prints the completions. */
export function writeShared({ program, node, ldm, share, isDebian = false }) {
  cpSync(join(program, 'dist/man'), join(share, 'man/man1'), { recursive: true });
  const completions = isDebian ? { ...COMPLETIONS, zsh: 'zsh/vendor-completions/_ldm' } : COMPLETIONS;
  const [command, ...args] = ldm;
  for (const [shell, path] of Object.entries(completions)) {
    mkdirSync(dirname(join(share, path)), { recursive: true });
    writeFileSync(join(share, path), execFileSync(command, [...args, 'completion', shell]));
  }
  const documents = join(share, 'doc/ldm-backup');
  mkdirSync(documents, { recursive: true });
  copyFileSync(join(program, 'LICENSE'), join(documents, 'copyright'));
  copyFileSync(join(program, 'docs/third-party.md'), join(documents, 'third-party.md'));
  copyFileSync(node.license, join(documents, 'node-license.txt'));
}
