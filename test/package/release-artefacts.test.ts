import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { makeEndlessHome } from '../cli/endless-backup.ts';
import { startProgram } from '../cli/start-ldm.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { fuseProblem } from '../support/fuse.ts';
import { HOME } from '../support/run-stage.ts';
import { placeSchedulers } from '../support/schedule-stage.ts';
import { makeTemporaryDirectory, temporaryDirectory } from '../support/temp-directory.ts';
import { missingTools, runTool, testNeeding } from '../support/tools.ts';
import { NOBODY, NO_ROOT, giveToNobody } from '../support/unprivileged.ts';
import { ROOT } from './installed-package.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const ARCHITECTURE = process.arch;
const DEBIAN = ARCHITECTURE === 'x64' ? 'amd64' : ARCHITECTURE;

/** For the tests that run as another user, too. */
const directory = makeTemporaryDirectory(tmpdir());
const release = join(directory, 'release');
const executable = join(directory, `ldm-${version}-linux-${ARCHITECTURE}`, 'bin', 'ldm');
const debian = join(directory, 'debian');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const missing = missingTools('npm', 'tar', 'gzip', 'dpkg-deb');
beforeEach(({ skip }) => skip(missing !== '', missing));
beforeAll(() => {
  if (missing !== '') return;
  chmodSync(directory, 0o755);
  runTool(process.execPath, join(ROOT, 'tools/release/release.mjs'), '--fast', '--output', release, ARCHITECTURE);
  runTool('tar', '-xzf', join(release, `ldm-${version}-linux-${ARCHITECTURE}.tar.gz`), '-C', directory);
  runTool('dpkg-deb', '-x', join(release, `ldm-backup_${version}_${DEBIAN}.deb`), debian);
});

interface Stage {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly run: (words: readonly string[], more?: NodeJS.ProcessEnv) => SpawnSyncReturns<string>;
}

/** A user with a home, and nothing in it. */
function makeStage(userId?: number): Stage {
  const home = temporaryDirectory();
  if (userId !== undefined) giveToNobody(home);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    TMPDIR: home,
    LDM_PASSWORD: 'secret',
    LDM_REPOSITORY: `${home}/r`,
  };
  const user = userId === undefined ? {} : { uid: userId, gid: userId };
  const run: Stage['run'] = ([program, ...args], more = {}) =>
    spawnSync(program!, args, { cwd: home, encoding: 'utf8', env: { ...env, ...more }, ...user });
  return { home, env, run };
}

const programIn = (cache: string): string => join(cache, readdirSync(cache)[0]!);

describe.each([
  ['the executable', () => [executable]],
  // Its script names the place where it will be.
  ['the package for Debian', () => ['node', 'bin/ldm.js'].map((name) => join(debian, 'usr/lib/ldm-program', name))],
])('%s', (_, ldm) => {
  it('backs up with a password, checks and restores', () => {
    const { home, run } = makeStage();
    const source = join(ROOT, 'src');
    for (const words of [
      ['init'],
      ['backup', source],
      ['check', '--read-data'],
      ['restore', `latest:${source}`, '--target', 'restored'],
    ]) {
      expect(run([...ldm(), ...words])).toMatchObject({ status: 0, stderr: '' });
    }
    expect(diffTrees(source, join(home, 'restored'))).toEqual([]);
    expect(run([...ldm(), 'doctor']).stdout).toContain('ok  native       all parts are there\n');
  });

  it('completes commands', () => {
    expect(makeStage().run([...ldm(), 'complete', 'bash', '--', 'ldm snap']).stdout).toContain('snapshots');
  });

  it('says that only npm installs optional packages', () => {
    const { stderr } = makeStage().run([...ldm(), 'filter', 'compare', '-n', '100', '--structure', 'b-plus-tree']);
    expect(stderr).toContain('npm install --global ldm-backup');
  });

  it('is what a timer starts', () => {
    const { home, run } = makeStage();
    mkdirSync(join(home, 'config/ldm'), { recursive: true });
    mkdirSync(join(home, 'source'));
    writeFileSync(join(home, 'source/file'), 'content');
    const profile = `${HOME}[profiles.home.run]\nschedule = "daily"\n`;
    writeFileSync(join(home, 'config/ldm/config.toml'), profile.replaceAll('@', home).replace('/repository', '/r'));
    placeSchedulers(home);
    const more = {
      XDG_CONFIG_HOME: join(home, 'config'),
      PATH: `${home}/bin:/usr/bin:/bin`,
      LDM_PASSWORD: undefined,
      LDM_REPOSITORY: undefined,
    };
    run([...ldm(), '-r', 'r', 'init', '--no-encryption'], more);
    expect(run([...ldm(), 'schedule', 'add', '--cron', 'home'], more)).toMatchObject({ status: 0, stderr: '' });
    const line = readFileSync(join(home, 'crontab'), 'utf8')
      .split('\n')
      .find((each) => each.includes(' run -- '))!;
    expect(line).toContain(` ${ldm().join(' ')} -q run -- home`);
    // As cron does, without the environment of the user.
    const cron = run(['env', '-i', `HOME=${home}`, 'sh', '-c', line.split(' ').slice(5).join(' ')]);
    expect(cron).toMatchObject({ status: 0, stderr: '' });
    expect(run([...ldm(), 'log'], more).stdout).toContain('home');
  });

  testNeeding(fuseProblem ?? '')('mounts', async () => {
    const { home, env, run } = makeStage();
    mkdirSync(join(home, 'mnt'));
    for (const words of [['init'], ['backup', join(ROOT, 'bin')]]) run([...ldm(), ...words]);
    const mounted = startProgram([...ldm(), 'mount', 'mnt'], { home, env: env as Record<string, string>, cwd: home });
    await mounted.stdoutMatching(/mounted/);
    expect(readFileSync(join(home, 'mnt/latest/bin/ldm.js'))).toEqual(readFileSync(join(ROOT, 'bin/ldm.js')));
    mounted.child.kill('SIGINT');
    expect(await mounted.ended).toMatchObject({ code: 0 });
  });
});

describe('the executable', () => {
  testNeeding(NO_ROOT)('serves each user from a directory of their own', () => {
    const [first, second] = [makeStage(), makeStage(NOBODY)];
    for (const { run } of [first, second]) expect(run([executable, 'version']).stdout).toContain(`ldm ${version} `);
    const owners = [first, second].map(({ home }) => statSync(join(home, '.cache/ldm-program')).uid);
    expect(owners).toEqual([0, NOBODY]);
    // Root runs nothing that belongs to another user, and leaves nothing in their home directory.
    const { home } = second;
    writeFileSync(join(programIn(join(home, '.cache/ldm-program')), 'dist/cli/main.js'), 'throw new Error("trap");');
    const trapped = first.run([executable, 'version'], { HOME: home });
    expect(trapped).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(first.home)).toContain('ldm-program-0');
  });

  it('repairs what was damaged, and says where it cannot be', () => {
    const { home, run } = makeStage();
    run([executable, 'version']);
    rmSync(join(programIn(join(home, '.cache/ldm-program')), 'dist/cli'), { recursive: true });
    expect(run([executable, 'version'])).toMatchObject({ status: 0, stderr: '' });
    const { status, stderr } = run([executable, 'version'], { XDG_CACHE_HOME: '/proc/none', TMPDIR: '/proc/none' });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^ldm: the files of the program cannot be unpacked\n\/proc\/none[^]*\nSet XDG_CACHE_HOME to /,
    );
  });

  it('is not ended by SIGHUP when a shell started it with nohup', async () => {
    const home = makeEndlessHome();
    const { run, env } = makeStage();
    run([executable, 'init']);
    const words = ['bash', '-c', 'nohup "$0" backup "$1" --json', executable, join(home, 'work')];
    const running = startProgram(words, { home, env: env as Record<string, string> });
    await running.stdoutMatching(/"files_done":1/);
    running.child.kill('SIGHUP');
    running.child.kill('SIGUSR1');
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 143, signal: null });
  });
});

describe('a release', () => {
  it('has sums of all its files', () => {
    const { status, stdout } = spawnSync('sha256sum', ['--strict', '-c', 'SHA256SUMS'], {
      cwd: release,
      encoding: 'utf8',
    });
    const named = stdout.split('\n').flatMap((line) => (line.endsWith(': OK') ? [line.slice(0, -4)] : []));
    expect([status, ['SHA256SUMS', ...named].toSorted()]).toEqual([0, readdirSync(release).toSorted()]);
  });

  it('has a bill of materials with what is bundled, and without addresses of packages', () => {
    const text = readFileSync(join(release, `ldm-${version}.cdx.json`), 'utf8');
    const { components } = JSON.parse(text) as { readonly components: readonly { readonly name: string }[] };
    const names = components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['koffi', `@node-rs/argon2-linux-${ARCHITECTURE}-gnu`, 'commander', 'node']),
    );
    expect(names.filter((name) => /vitest|win32|typescript/.test(name))).toEqual([]);
    const hosts = [...text.matchAll(/:\/\/([^/"]+)/g)].map(([, host]) => host!);
    expect([...new Set(hosts)].toSorted()).toEqual(['cyclonedx.org', 'github.com']);
  });

  it('contains no paths of the machine that made it, and no addresses of packages', () => {
    expect(readFileSync(executable).includes('ldm-release-')).toBe(false);
    const found = spawnSync('grep', ['-rl', '"resolved":\\|ldm-release-', join(debian, 'usr')], { encoding: 'utf8' });
    expect([found.status, found.stdout]).toEqual([1, '']);
  });

  it('has the time of its commit in all files, and only programs that can be executed', () => {
    const archive = join(release, `ldm-${version}-linux-${ARCHITECTURE}.tar.gz`);
    const listed = runTool('tar', '--utc', '--full-time', '-tvzf', archive).trim().split('\n');
    expect(new Set(listed.map((line) => line.split(/\s+/).slice(3, 5).join(' '))).size).toBe(1);
    const found = runTool('find', debian, '-type', 'f', '-perm', '/111', '-printf', '%f ').trim().split(' ');
    expect(found.toSorted()).toEqual(['ldm', 'ldm.js', 'node']);
  });

  it('has man pages and completions, beside the executable and in the package', () => {
    const shares: readonly (readonly [string, string])[] = [
      [join(executable, '../../share'), 'zsh/site-functions/_ldm'],
      [join(debian, 'usr/share'), 'zsh/vendor-completions/_ldm'],
    ];
    for (const [share, zsh] of shares) {
      const files = ['bash-completion/completions/ldm', zsh, 'fish/vendor_completions.d/ldm.fish'];
      for (const file of files) expect(readFileSync(join(share, file), 'utf8'), file).toContain('ldm');
      const pages = readdirSync(join(share, 'man/man1'));
      expect(pages).toEqual(expect.arrayContaining(['ldm.1.gz', 'ldm-backup.1.gz']));
      const documents = readdirSync(join(share, 'doc/ldm-backup'));
      expect(documents.toSorted()).toEqual(['copyright', 'node-license.txt', 'third-party.md']);
    }
  });

  it('has a package for Debian that names the libraries of its Node, and starts as bin/ldm.js does', () => {
    const depends = runTool('dpkg-deb', '-f', join(release, `ldm-backup_${version}_${DEBIAN}.deb`), 'Depends');
    const dynamic = runTool('ldd', join(debian, 'usr/lib/ldm-program/node'));
    for (const library of ['libc', 'libstdc++', 'libgcc', 'libatomic']) {
      expect([dynamic.includes(`${library}.so`) || dynamic.includes(`${library}_s.so`), library]).toEqual([
        true,
        library,
      ]);
      expect(depends).toContain(library);
    }
    const [, line] = readFileSync(join(debian, 'usr/bin/ldm'), 'utf8').split('\n');
    expect(line).toMatch(
      /^trap 'LDM_SIGHUP=' HUP; .*; exec \/usr\/lib\/ldm-program\/node \/usr\/lib\/ldm-program\/bin\/ldm\.js "\$@"$/,
    );
    const status = statSync(join(debian, 'usr/bin/ldm'));
    expect([status.mode & 0o777, status.uid]).toEqual([0o755, process.geteuid!()]);
  });

  it('has a Dockerfile that copies what the release has', () => {
    const text = readFileSync(join(release, 'Dockerfile'), 'utf8');
    const copied = [...text.matchAll(/^COPY (\S+) /gm)].map(([, name]) =>
      name!.replace('${VERSION}', version).replace('${TARGETARCH}', DEBIAN),
    );
    expect(copied.map((name) => [name, existsSync(join(release, name))])).toEqual([
      [`ldm-backup_${version}_${DEBIAN}.deb`, true],
    ]);
  });
});
