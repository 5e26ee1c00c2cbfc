// Makes everything that a release consists of, in build/release: `npm run release`. The same commit and the same packages
// give the same bytes. Arguments: architectures (default: all), and --fast, which hardly compresses, for tests.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildDebianPackage } from './debian.mjs';
import { buildExecutable } from './executable.mjs';
import { installProgram, NODE_VERSION, nodeFor } from './packages.mjs';
import { billOfMaterials } from './sbom.mjs';
import { writeShared } from './shared-files.mjs';

const ELF_MACHINE_OFFSET = 18;
const ELF_MACHINES = { x64: 62, arm64: 183 };

const ROOT = join(import.meta.dirname, '../..');
const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    fast: { type: 'boolean', default: false },
    output: { type: 'string', default: join(ROOT, 'build/release') },
  },
});
const output = resolve(values.output);
const architectures = positionals.length > 0 ? positionals : ['x64', 'arm64'];
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct']));

// Modes of files must not depend on the user.
process.umask(0o022);
const work = mkdtempSync(join(tmpdir(), 'ldm-release-'));
try {
  await release();
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function release() {
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  // `npm pack` builds first. Tests have built already, and use what they have built.
  run('npm', ['--silent', ...(values.fast ? ['run', 'postpack'] : ['pack'])], { npm_config_pack_destination: output });
  const builder = nodeFor(process.arch, work);
  for (const architecture of architectures) await releaseFor(architecture, builder);
  const bill = billOfMaterials({ root: ROOT, version, nodeVersion: NODE_VERSION, seconds });
  writeFileSync(join(output, `ldm-${version}.cdx.json`), `${JSON.stringify(bill, undefined, 2)}\n`);
  copyFileSync(join(import.meta.dirname, 'Dockerfile'), join(output, 'Dockerfile'));
  const sums = readdirSync(output).map((file) => `${digestOf(join(output, file))}  ${file}\n`);
  writeFileSync(join(output, 'SHA256SUMS'), sums.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(''));
  process.stdout.write(readFileSync(join(output, 'SHA256SUMS'), 'utf8'));
}

async function releaseFor(architecture, builder) {
  const node = architecture === process.arch ? builder : nodeFor(architecture, work);
  const program = join(work, `program-${architecture}`);
  installProgram({ root: ROOT, archive: join(output, `${name}-${version}.tgz`), architecture, program });
  const shared = { program, node, ldm: [builder.path, join(ROOT, 'bin/ldm.js')] };
  const folder = `ldm-${version}-linux-${architecture}`;
  mkdirSync(join(work, folder, 'bin'), { recursive: true });
  const made = join(work, folder, 'bin/ldm');
  const places = { work: join(work, `sea-${architecture}`), output: made };
  await buildExecutable({ program, version, node: node.path, builder: builder.path, seconds, ...places });
  verify(made, architecture);
  writeShared({ ...shared, share: join(work, folder, 'share') });
  archive(folder);
  const root = join(work, `deb-${architecture}`);
  cpSync(program, join(root, 'usr/lib/ldm-program'), { recursive: true });
  writeShared({ ...shared, share: join(root, 'usr/share'), isDebian: true });
  buildDebianPackage({ root, node: node.path, version, architecture, output, seconds, isFast: values.fast });
}

/** What is for another processor cannot run here: only its header says whether it is what it should be. */
function verify(executable, architecture) {
  const machine = readFileSync(executable).readUInt16LE(ELF_MACHINE_OFFSET);
  if (machine !== ELF_MACHINES[architecture]) throw new Error(`${executable} is not for ${architecture}`);
  if (architecture !== process.arch) {
    process.stderr.write(`release: ldm for ${architecture} has not been run\n`);
    return;
  }
  const answer = run(executable, ['version'], { XDG_CACHE_HOME: join(work, 'cache') });
  if (!answer.startsWith(`ldm ${version} (node ${NODE_VERSION}`)) throw new Error(`${executable} says ${answer}`);
}

function archive(folder) {
  const reproducible = [
    '--sort=name',
    `--mtime=@${seconds}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
  ];
  const compression = ['-I', values.fast ? 'gzip -n1' : 'gzip -n9'];
  run('tar', [...reproducible, ...compression, '-C', work, '-cf', join(output, `${folder}.tar.gz`), folder]);
}

function digestOf(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function run(command, args, env = {}) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', stdio, env: { ...process.env, ...env } });
}
