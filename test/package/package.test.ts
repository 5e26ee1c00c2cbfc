import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { ROOT, installPackage, productionPackages } from './installed-package.ts';

const PACKAGES_MAX = 12;
const BYTES_MAX = 13_000_000;

const directory = makeTemporaryDirectory();
const installed = installPackage(directory);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
  readonly man: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
};

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const home = join(directory, 'home');
  mkdirSync(home, { recursive: true });
  return spawnSync(process.execPath, [join(installed, 'bin', 'ldm.js'), ...args], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: home },
  });
}

function treeBytes(path: string): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return status.size;
  return readdirSync(path, { encoding: 'utf8' }).reduce((sum, name) => sum + treeBytes(join(path, name)), status.size);
}

/** The targets of the links to other files in a document. */
function linkedFiles(document: string): string[] {
  const links = [...readFileSync(document, 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map((match) => match[1]!);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** The command that an error says installs what is missing, as the packages with their versions. */
function packagesToInstall(stderr: string): string[] {
  const [, command] = /^Install what is missing with: npm install (.*)$/m.exec(stderr) ?? [];
  return [...(command ?? '').matchAll(/'([^']+)'/g)].map((match) => match[1]!);
}

describe('the npm package', () => {
  it('has the documents that its documents link to', () => {
    const docs = readdirSync(join(installed, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) =>
      join('docs', name),
    );
    const documents = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...docs].filter((name) => name.endsWith('.md'));
    for (const document of documents.map((name) => join(installed, name))) {
      for (const link of linkedFiles(document)) {
        expect(existsSync(join(dirname(document), link)), `${document} links to ${link}`).toBe(true);
      }
    }
    expect(linkedFiles(join(installed, 'README.md'))).toContain('docs/filters.md');
  });

  it('names its man pages, a page for each command: npm installs no others', () => {
    const pages = readdirSync(join(installed, 'dist/man')).map((page) => `./dist/man/${page}`);
    expect(manifest.man).toEqual(pages.toSorted());
    expect(pages.length).toBeGreaterThan(50);
  });

  // npm asks about the scripts of a package that does not come from a registry.
  it('has no scripts, and nothing else in its package.json that only a clone needs', () => {
    expect(
      Object.keys(manifest).filter((name) => /Scripts$|^(scripts|private|devDependencies|overrides)$/.test(name)),
    ).toEqual([]);
    expect(manifest).toHaveProperty('bin');
  });

  it('imports no package that it does not name', () => {
    const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' });
    const text = files
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFileSync(join(installed, 'dist', name), 'utf8'))
      .join('\n');
    const loads = text.matchAll(
      /(?:\b(?:import|export)\b[^"'`;]*?\bfrom ?|\bimport ?|\bimport\(|\b(?:require|__require)\(|createRequire\([^)]*\)\()["`]((?:@[\w-]+\/)?[a-z][\w/-]*)["`]/g,
    );
    const packages = [...loads].map(([, name]) => name!).filter((name) => !isBuiltin(name));
    const named = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
    // Only colored tables need it.
    expect(packages.filter((name) => !named.has(name))).toEqual(['@colors/colors/safe']);
    expect(packages).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  });

  it('has one declaration for each entry, with which a program compiles that has only those of Node besides', () => {
    const declarations = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.d.ts'),
    );
    expect(declarations.toSorted()).toEqual(['dist/filters/index.d.ts', 'dist/index.d.ts']);
    for (const name of declarations) {
      expect(readFileSync(join(installed, name), 'utf8'), name).not.toMatch(/\bBuffer\b/);
    }
    // The filter library knows no commands, and what to do about an error is one.
    const [ofFilters, ofAll] = declarations
      .toSorted()
      .map((name) => /advice/i.test(readFileSync(join(installed, name), 'utf8')));
    expect([ofFilters, ofAll]).toEqual([false, true]);
    symlinkSync(join(ROOT, 'node_modules', '@types'), join(directory, 'node_modules', '@types'));
    const consumer = `
      import { backup, collectStats, LocalBackend, UsageError } from 'ldm-backup';
      import type { Backend, BackupResult, StatsResult } from 'ldm-backup';
      import { BloomFilter } from 'ldm-backup/filters';
      import type { ChainStatistics, MembershipFilter } from 'ldm-backup/filters';
      const backend: Backend = new LocalBackend('repository');
      export const bytes: Uint8Array = await backend.read('config');
      export const filter: MembershipFilter = BloomFilter.forCapacity({ capacity: 1, falsePositiveRate: 0.1 });
      export const stats: Promise<StatsResult> = collectStats({ backend });
      export type Chains = ChainStatistics | BackupResult;
      // @ts-expect-error -- a backup needs to know of what: the types are not all 'any'
      await backup({ backend }, {});
      throw new UsageError('never run');`;
    writeFileSync(join(directory, 'consumer.mts'), consumer);
    const options = {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      types: ['node'],
      skipDefaultLibCheck: true,
    };
    const config = { compilerOptions: options, files: ['consumer.mts'] };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', directory], { encoding: 'utf8' });
    expect([stdout, status]).toEqual(['', 0]);
  });

  it(`brings at most ${PACKAGES_MAX} packages and 13 MB, and koffi alone has an install script`, () => {
    const packages = productionPackages();
    expect(packages.size + 1).toBeLessThanOrEqual(PACKAGES_MAX);
    const sizes = [...packages.keys()].map((folder) => treeBytes(join(ROOT, folder)));
    expect(sizes.reduce((sum, size) => sum + size, treeBytes(installed))).toBeLessThanOrEqual(BYTES_MAX);
    const scripted = [...packages].filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([folder]) => folder)).toEqual(['node_modules/koffi']);
  });
});

describe('without the optional packages', () => {
  it('a backup and a check work', () => {
    writeFileSync(join(directory, 'file'), 'content');
    expect(run('-r', 'repository', 'init', '--no-encryption')).toMatchObject({ status: 0, stderr: '' });
    expect(run('-r', 'repository', 'backup', 'file')).toMatchObject({ status: 0, stderr: '' });
    expect(run('-r', 'repository', 'check', '--read-data')).toMatchObject({ status: 0, stderr: '' });
  });

  const charts: readonly (readonly [string, string, readonly string[]])[] = [
    ['--svg', 'a chart as SVG', ['vega']],
    ['--png', 'a chart as PNG', ['vega', '@resvg/resvg-js', 'dejavu-fonts-ttf']],
  ];
  // A PNG is made from an SVG.
  it.each(inSoak(charts, charts.slice(1)))(
    'filter simulate %s says how to install what it needs, before it works',
    (option, purpose, packages) => {
      const { status, stdout, stderr } = run('filter', 'simulate', '--runs', '1', option, 'chart');
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(new RegExp(`^ldm: ${purpose} needs the packages? ${packages.join('.*')}`));
      expect(packagesToInstall(stderr)).toEqual(packages.map((name) => `${name}@${manifest.peerDependencies[name]}`));
      expect(existsSync(join(directory, 'chart'))).toBe(false);
    },
  );

  it('filter simulate draws in the terminal', () => {
    const { status, stdout, stderr } = run('filter', 'simulate', '--runs', '1', '--samples', '2');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('chunks in the store');
  });

  it('filter compare refuses the B+ tree where it is asked for by name', () => {
    const { status, stdout, stderr } = run('filter', 'compare', '-n', '100', '--structure', 'b-plus-tree');
    expect([status, stdout]).toEqual([1, '']);
    expect(packagesToInstall(stderr)).toEqual([`lmdb@${manifest.peerDependencies['lmdb']}`]);
  });

  it('all of them are optional peer dependencies', () => {
    const { peerDependencies, peerDependenciesMeta } = manifest;
    expect(Object.keys(peerDependencies).toSorted()).toEqual([
      '@resvg/resvg-js',
      'dejavu-fonts-ttf',
      'ioredis',
      'lmdb',
      'node-zookeeper-client',
      'vega',
    ]);
    for (const name of Object.keys(peerDependencies)) expect(peerDependenciesMeta[name]).toEqual({ optional: true });
  });
});

it('a clone that was not built says so, without a stack trace', () => {
  const clone = join(directory, 'clone');
  cpSync(join(ROOT, 'bin'), join(clone, 'bin'), { recursive: true });
  writeFileSync(join(clone, 'package.json'), '{ "type": "module" }');
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(clone, 'bin', 'ldm.js'), 'version'], {
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'ldm: the program has not been built\nRun `npm ci` in the clone, or `npm run build` if its packages are installed.\n',
  });
});

it('the packages of a clone are installed together with a build of it', () => {
  // npm runs this script in a clone and before `npm pack`, not when a published package is installed.
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(scripts['prepare']).toBe('npm run build');
});
