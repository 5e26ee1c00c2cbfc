import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..', '..');

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/** The packages of package-lock.json that a user's installation has on this platform, by their folder below the project. */
export function productionPackages(): Map<string, LockedPackage> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const isHere = (wanted: readonly string[] | undefined, here: string): boolean => wanted?.includes(here) ?? true;
  const isInstalled = ([folder, { dev, devOptional, os, cpu, libc }]: [string, LockedPackage]): boolean =>
    folder !== '' &&
    dev !== true &&
    devOptional !== true &&
    isHere(os, process.platform) &&
    isHere(cpu, process.arch) &&
    isHere(libc, 'glibc');
  return new Map(Object.entries(lock.packages).filter(isInstalled));
}

/**
 * Packs the project as `npm pack` does and installs it in a directory with its production dependencies and nothing
 * else. These are links to the project's own, so that no registry is needed. Returns the folder of the package.
 */
export function installPackage(directory: string): string {
  const run = (command: string, args: readonly string[], env = {}): string => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    assert(status === 0, `${command} ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  // The last step of `npm pack`, which makes the package. The steps before it build, which the set-up of the suite did.
  run('npm', ['run', '--silent', 'postpack'], { npm_config_pack_destination: directory });
  const [filename] = readdirSync(directory).filter((name) => name.endsWith('.tgz'));
  run('tar', ['-xzf', join(directory, filename!), '-C', directory]);
  const modules = join(directory, 'node_modules');
  mkdirSync(modules);
  const installed = join(modules, 'ldm-backup');
  cpSync(join(directory, 'package'), installed, { recursive: true });
  for (const folder of productionPackages().keys()) {
    // Packages below others are reached through those.
    if (folder.lastIndexOf('node_modules/') > 0) continue;
    mkdirSync(dirname(join(directory, folder)), { recursive: true });
    symlinkSync(join(ROOT, folder), join(directory, folder));
  }
  return installed;
}
