import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { dump } from '../../src/verbs/dump/dump.ts';
import type { DumpOptions, DumpResult } from '../../src/verbs/dump/dump.ts';
import { importTar } from '../../src/verbs/import-tar/import-tar.ts';
import { diffTrees } from '../support/compare-trees.ts';
import type { DiffTreesOptions } from '../support/compare-trees.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { seedsOf } from '../support/seeds.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { missingTools } from '../support/tools.ts';

const isRoot = process.getuid?.() === 0;
const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

async function dumped(
  { context }: TestRepository,
  options: Partial<DumpOptions> = {},
): Promise<DumpResult & { readonly bytes: Buffer }> {
  const pieces: Uint8Array[] = [];
  const write = (bytes: Uint8Array): undefined => void pieces.push(Buffer.from(bytes));
  const result = await dump(context, { selector: 'latest', write, ...options });
  return { ...result, bytes: Buffer.concat(pieces) };
}

/** Attributes and ACLs as the tools of the system print them. */
function attributesOf(directory: string): string {
  const run = (program: string, args: readonly string[]): string =>
    execFileSync(program, [...args, '.'], { cwd: directory, encoding: 'latin1', stdio: 'pipe' });
  const files = run('getfattr', ['-R', '-h', '-P', '-d', '-m', '-']).split('\n\n').sort();
  const acls = run('getfacl', ['-R', '-P', '-n', '-p']).split('\n\n').sort();
  return [...files, ...acls].join('\n\n');
}

/** Adds what random trees do not have. */
function addOddities(source: string): void {
  const odd = join(source, 'odd');
  mkdirSync(odd);
  writeFileSync(join(odd, 'sparse'), 'x');
  truncateSync(join(odd, 'sparse'), 20_000_000);
  writeFileSync(join(odd, 'attributes'), 'a');
  execFileSync('setfattr', ['-n', 'user.comment', '-v', '0x00ff0a3d', join(odd, 'attributes')]);
  execFileSync('setfacl', ['-m', 'u:77:r,g:78:rw', join(odd, 'attributes')]);
  execFileSync('setfacl', ['-d', '-m', 'u:77:rwx', odd]);
  const deep = join(odd, 'n'.repeat(200), 'm'.repeat(200));
  mkdirSync(deep, { recursive: true });
  writeFileSync(Buffer.concat([Buffer.from(`${deep}/`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
  execFileSync('mkfifo', [join(odd, 'fifo')]);
  if (!isRoot) return;
  execFileSync('mknod', [join(odd, 'null'), 'c', '1', '3']);
  execFileSync('chown', ['-h', '3000000:2097152', join(odd, 'fifo')]);
  execFileSync('setcap', ['cap_net_raw+ep', join(odd, 'sparse')]);
}

async function makeOddRepository(seed: number): Promise<TestRepository> {
  // On a disk: attributes of users need a file system that has them.
  const repository = await makeTestRepository({}, temporaryDirectory());
  makeRandomTree(join(repository.source, 'tree'), { seed });
  addOddities(repository.source);
  await repository.backup();
  return repository;
}

const EXTRACTORS: readonly (readonly [string, readonly string[], DiffTreesOptions])[] = [
  ['tar', ['--xattrs', '--xattrs-include=*', '--acls', '-xpf', '-'], {}],
  // It takes the fraction of a time before 1970 for one after the second.
  ['bsdtar', ['-xpf', '-'], { ignore: ['mtimeNs'] }],
];

/** GNU tar does not know the record that bsdtar needs for long names that are not UTF-8. A name can have two lines. */
const WARNINGS = /^tar: .*(?:\n.*)?(keyword 'hdrcharset'|old time stamp|time stamp .* in the future).*\n/gm;

const NO_TOOLS = missingTools('bsdtar', 'setfattr', 'setfacl');

describe.each(seedsOf(1, 10))('a tar archive of random files (seed %i)', (seed) => {
  beforeEach(({ skip }) => skip(NO_TOOLS !== '', NO_TOOLS));

  it.each(EXTRACTORS)('is extracted by %s as it was', async (program, args, options) => {
    const repository = await makeOddRepository(seed);
    const { bytes, format, bytesWritten, leftOutCount } = await dumped(repository);
    expect([format, bytesWritten, leftOutCount]).toEqual(['tar', bytes.length, 0]);
    expect(bytes.length).toBeLessThan(19_000_000 + (await sizeOf(repository, 'tree')));
    const target = join(repository.directory, 'target');
    mkdirSync(target);
    const { status, stderr } = spawnSync(program, [...args], { input: bytes, cwd: target, encoding: 'utf8' });
    expect([status, stderr.replaceAll(WARNINGS, '')], `seed ${seed}`).toEqual([0, '']);
    expect(diffTrees(repository.source, join(target, 'source'), options), `seed ${seed}`).toEqual([]);
    expect(attributesOf(join(target, 'source'))).toBe(attributesOf(repository.source));
  });
});

describe('a tar archive of a snapshot', () => {
  beforeEach(({ skip }) => skip(NO_TOOLS !== '', NO_TOOLS));

  it('is imported again as the same snapshot', async () => {
    const repository = await makeOddRepository(7);
    const { bytes } = await dumped(repository);
    const { summary, problems } = await importTar(repository.context, { archive: [bytes], base: repository.directory });
    expect(problems).toEqual([]);
    expect(summary.dataBlobs).toBe(0);
    expect((await dumped(repository)).bytes.equals(bytes)).toBe(true);
    await repository.expectRestored();
  });

  it('has the contents of a selected directory, and one file on request', async () => {
    const repository = await makeTestRepository();
    mkdirSync(join(repository.source, 'd'));
    writeFileSync(join(repository.source, 'd', 'file'), 'content');
    await repository.backup();
    const list = async (options: Partial<DumpOptions>): Promise<string> =>
      execFileSync('tar', ['-tf', '-'], { input: (await dumped(repository, options)).bytes, encoding: 'utf8' });
    expect(await list({ selector: 'latest:source' })).toBe('d/\nd/file\n');
    expect(await list({ selector: 'latest:source/d/file', format: 'tar' })).toBe('file\n');
    expect((await dumped(repository, { selector: 'latest:source/d/file' })).bytes.toString()).toBe('content');
  });
});

async function sizeOf(repository: TestRepository, name: string): Promise<number> {
  return (await dumped(repository, { selector: `latest:source/${name}` })).bytes.length;
}

describe('a zip archive of a snapshot', () => {
  it('is extracted by unzip', async ({ skip }) => {
    skip(!isInstalled('unzip'), 'unzip is not installed');
    const repository = await makeTestRepository({}, temporaryDirectory());
    const { source } = repository;
    mkdirSync(join(source, 'caf\u00e9'), { mode: 0o750 });
    writeFileSync(join(source, 'caf\u00e9', 'large'), Buffer.alloc(3_000_000, 'large'), { mode: 0o640 });
    writeFileSync(join(source, 'empty'), '');
    execFileSync('ln', ['-s', 'empty', join(source, 'link')]);
    execFileSync('mkfifo', [join(source, 'fifo')]);
    execFileSync('find', [source, '-exec', 'touch', '-h', '-d', '@1700000007', '{}', '+']);
    await repository.backup();
    const { bytes, leftOut } = await dumped(repository, { format: 'zip' });
    expect(leftOut).toEqual(['source/fifo']);
    writeFileSync(join(repository.directory, 'a.zip'), bytes);
    const { status, stderr } = spawnSync('unzip', ['-q', '-X', 'a.zip', '-d', 'target'], {
      cwd: repository.directory,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    execFileSync('touch', ['-h', '-d', '@1700000007', join(repository.directory, 'target', 'source', 'link')]);
    expect(diffTrees(source, join(repository.directory, 'target', 'source'))).toEqual(['"fifo" is missing']);
  });
});
