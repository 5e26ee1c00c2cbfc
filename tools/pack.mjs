// The last step of `npm pack`: makes the package again, with a package.json that has only what an installation needs.
// npm asks about scripts of a package that does not come from a registry, and those of a clone are of no use there.
// The package is made in a folder of its own, so that an interruption cannot leave another package.json in the clone.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const ROOT = join(import.meta.dirname, '..');
const ONLY_IN_A_CLONE = ['private', 'scripts', 'devDependencies', 'overrides', 'allowScripts'];
const { INIT_CWD, npm_config_dry_run: dryRun, npm_config_pack_destination: destination } = process.env;

if (dryRun !== 'true') pack(resolve(INIT_CWD ?? '.', destination ?? '.'));

function pack(folder) {
  const stage = mkdtempSync(join(tmpdir(), 'ldm-pack-'));
  try {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const name of ['README.md', 'LICENSE', ...manifest.files]) {
      cpSync(join(ROOT, name), join(stage, name), { recursive: true });
    }
    // Programs read them, which need no white space: that is 2 % of what the package itself has.
    const schemas = join(stage, 'docs/schemas');
    for (const name of readdirSync(schemas)) {
      const schema = JSON.parse(readFileSync(join(schemas, name), 'utf8'));
      writeFileSync(join(schemas, name), JSON.stringify(schema));
    }
    // A page shows charts as pictures, without the roles of their parts, and no screen has a thousandth of a pixel.
    for (const name of readdirSync(join(stage, 'docs')).filter((each) => each.endsWith('.svg'))) {
      const chart = readFileSync(join(stage, 'docs', name), 'utf8');
      const plain = chart.replace(/ (?:role|aria-[a-z]+|class)="[^"]*"/g, '');
      const rounded = plain.replace(/\d+\.\d{3,}/g, (number) => String(Math.round(Number(number) * 100) / 100));
      writeFileSync(join(stage, 'docs', name), rounded);
    }
    // The package must not depend on the umask with which the clone was made.
    spawnSync('chmod', ['-R', 'u=rwX,go=rX', stage]);
    compressManPages(join(stage, 'dist/man'));
    for (const name of ONLY_IN_A_CLONE) delete manifest[name];
    // A page for each command: npm needs their names to install them.
    manifest.man = readdirSync(join(stage, 'dist/man'))
      .sort()
      .map((page) => `./dist/man/${page}`);
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    const { status } = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: stage,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    process.exitCode = status ?? 1;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** `man` reads them like this too, and they take 250 KB less. */
function compressManPages(folder) {
  for (const name of readdirSync(folder)) {
    writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name)), { level: 9 }));
    rmSync(join(folder, name));
  }
}
