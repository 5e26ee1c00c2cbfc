// Makes a package for Debian and Ubuntu. It has the program as files, with a Node of its own: nothing is unpacked at the
// first start, and no version of Node in the system matters.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const PROGRAM = 'usr/lib/ldm-program';

/** `root` has the program and `usr/share` already. Does nothing where there is no dpkg-deb. */
export function buildDebianPackage({ root, node, version, architecture, output, seconds, isFast }) {
  // What only npm or the executable needs, and what is in usr/share.
  const unused = ['package-lock.json', 'node_modules/.package-lock.json', 'start.cjs', 'dist/man'];
  for (const name of unused) rmSync(join(root, PROGRAM, name), { recursive: true });
  copyFileSync(node, join(root, PROGRAM, 'node'));
  mkdirSync(join(root, 'usr/bin'));
  writeFileSync(join(root, 'usr/bin/ldm'), startScript(join(root, PROGRAM, 'bin/ldm.js')));
  settleModes(root);
  const debian = ARCHITECTURES[architecture];
  mkdirSync(join(root, 'DEBIAN'));
  const control = readFileSync(join(import.meta.dirname, 'control'), 'utf8')
    .replace('@version@', version)
    .replace('@architecture@', debian)
    .replace('@size@', String(Math.ceil(bytesIn(root) / 1024)));
  writeFileSync(join(root, 'DEBIAN/control'), control);
  const compression = isFast ? ['-Zgzip', '-z1'] : ['-Zxz', '--threads-max=1'];
  const file = join(output, `ldm-backup_${version}_${debian}.deb`);
  try {
    execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
    });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    process.stderr.write('release: no package for Debian, since there is no dpkg-deb here\n');
  }
}

/** The first two lines of bin/ldm.js are a program for sh, which detects nohup. Here they start another Node. */
function startScript(program) {
  const [shebang, line] = readFileSync(program, 'utf8').split('\n');
  const installed = `exec /${PROGRAM}/node /${PROGRAM}/bin/ldm.js "$@"`;
  const changed = line.replace(`':' //; `, '').replace('exec node "$0" "$@"', installed);
  if (!changed.endsWith(installed) || !changed.startsWith('trap')) throw new Error('bin/ldm.js begins in another way');
  return `${shebang}\n${changed}\n`;
}

/** Whatever the packages say. */
function settleModes(root) {
  for (const path of pathsIn(root)) {
    const isProgram = statSync(path).isDirectory() || /\/usr\/bin\/ldm$|\/node$|\/bin\/ldm\.js$/.test(path);
    chmodSync(path, isProgram ? 0o755 : 0o644);
  }
}

function bytesIn(root) {
  return pathsIn(root).reduce((sum, path) => sum + statSync(path).size, 0);
}

function pathsIn(root) {
  return [root, ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))];
}
