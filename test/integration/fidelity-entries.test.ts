import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { temporaryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

/** A name below `source` of any bytes, given as latin1. */
function at({ source }: TestRepository, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${source}/`), Buffer.from(name, 'latin1')]);
}

async function expectRoundTrip(repository: TestRepository): Promise<void> {
  const { problems } = await repository.backup();
  expect(problems).toEqual([]);
  await repository.expectRestored();
  // Once more from a parent, where entries are taken over instead of made.
  await repository.backup();
  await repository.expectRestored();
}

describe('names', () => {
  it.each([
    ['of 255 bytes', 'n'.repeat(255)],
    ['of 255 bytes of UTF-8', '\xf0\x9f\x92\xbe'.repeat(63) + 'abc'],
    ['that are not UTF-8', '\xff\xfe-\xe9-\x80'],
    ['with a newline and an escape sequence', 'a\nb\x1b[31mred\x07'],
    ['that look like options and patterns', '--help *?[a]{b,c} $(x) ~'],
    ['that objects have', '__proto__'],
    ['of one byte', '\x01'],
    ['of dots', '...'],
    ['with a backslash and blanks at both ends', ' \\ '],
  ])('%s', async (_, name) => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    writeFileSync(at(repository, name), name);
    mkdirSync(at(repository, `d${name.slice(1)}`));
    writeFileSync(Buffer.concat([at(repository, `d${name.slice(1)}/`), Buffer.from(name, 'latin1')]), 'below');
    await expectRoundTrip(repository);
  });

  it('that are equal but for their form, in byte order or not', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    for (const name of ['caf\xc3\xa9', 'cafe\xcc\x81', 'a', 'A', 'a.', 'a-', 'a/b'.replace('/', '0'), 'a\xff']) {
      writeFileSync(at(repository, name), name);
    }
    await expectRoundTrip(repository);
  });

  it('in paths beyond what one call of the system takes', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    const name = 'x'.repeat(250);
    const script = `cd "$1"; for i in $(seq 26); do mkdir ${name}; cd ${name}; done
      echo deep > file; ln -s nowhere link; ln file hard; mkfifo fifo; mkdir empty; chmod 0711 .; touch -d @5.000000007 .`;
    expect(spawnSync('bash', ['-c', script, '-', repository.source]).stderr.toString()).toBe('');
    expect((await repository.backup()).problems).toEqual([]);
    const { target, problems } = await repository.restore();
    expect(problems).toEqual([]);
    // No tool of Node goes there; `find` walks by directory.
    const list = (directory: string): string =>
      spawnSync('find', ['.', '-printf', '%P %y %m %T@ %s %l %n\\n'], { cwd: directory, maxBuffer: 2 ** 28 })
        .stdout.toString()
        .replaceAll(/ d (\d+ [\d.]+) \d+/g, ' d $1');
    const listed = list(repository.source);
    expect(listed.length).toBeGreaterThan(26 * 250 * 6);
    expect(list(join(target, 'source'))).toBe(listed);
    await repository.expectClean();
    for (const directory of [repository.source, target]) spawnSync('rm', ['-rf', directory]);
  });
});

describe('symlinks', () => {
  it('come back as they are, wherever they lead', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    const targets = ['nowhere', '.', '..', '/', '/etc/passwd', '\xff\xfe', 'l'.repeat(4095), 'a\nb', 'loop'];
    for (const [index, target] of targets.entries()) {
      symlinkSync(Buffer.from(target, 'latin1'), at(repository, `link-${index}`));
    }
    symlinkSync('loop', at(repository, 'loop'));
    spawnSync('touch', ['-h', '-d', '@-77.000000077', join(repository.source, 'link-1')]);
    if (isRoot) lchownSync(at(repository, 'link-2'), 12_345, 54_321);
    await expectRoundTrip(repository);
  });
});

describe('hard links', () => {
  it('join the same names, across directories and backups', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    mkdirSync(join(repository.source, 'a', 'b'), { recursive: true });
    mkdirSync(join(repository.source, 'z'));
    writeFileSync(join(repository.source, 'm'), 'three names');
    linkSync(join(repository.source, 'm'), join(repository.source, 'a', 'b', 'm2'));
    linkSync(join(repository.source, 'm'), join(repository.source, 'z', 'm3'));
    writeFileSync(join(repository.source, 'other'), 'three names');
    linkSync(join(repository.source, 'other'), join(repository.source, 'a', 'other2'));
    writeFileSync(join(repository.source, 'empty'), '');
    linkSync(join(repository.source, 'empty'), join(repository.source, 'z', 'empty2'));
    await expectRoundTrip(repository);
    await repository.expectClean();
  });

  it('to a name outside the backup leave a file of its own', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    writeFileSync(join(repository.directory, 'outside'), 'shared');
    linkSync(join(repository.directory, 'outside'), join(repository.source, 'inside'));
    await expectRoundTrip(repository);
    const { target } = await repository.restore();
    expect(statSync(join(target, 'source', 'inside')).nlink).toBe(1);
  });
});

describe('modes and owners', () => {
  it('every bit of a mode', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    for (const mode of [0, 0o1, 0o444, 0o644, 0o1644, 0o2755, 0o4755, 0o6711, 0o7777]) {
      if (!isRoot && (mode & 0o400) === 0) continue;
      const path = join(repository.source, `file-${mode.toString(8)}`);
      writeFileSync(path, 'x');
      chmodSync(path, mode);
      mkdirSync(`${path}.d`);
      chmodSync(`${path}.d`, isRoot ? mode : mode | 0o500);
    }
    await expectRoundTrip(repository);
  });

  it('the owners, of everything that has one, and the set-id bits with them', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository({}, temporaryDirectory());
    const path = (name: string): string => join(repository.source, name);
    writeFileSync(path('file'), 'x');
    mkdirSync(path('directory'));
    spawnSync('mkfifo', [path('fifo')]);
    symlinkSync('x', path('link'));
    for (const [index, name] of ['file', 'directory', 'fifo', 'link'].entries()) {
      lchownSync(path(name), 4_000_000_000 + index, 70_000 + index);
    }
    chmodSync(path('file'), 0o6750);
    chmodSync(path('directory'), 0o3770);
    writeFileSync(path('root-of-other-group'), 'x');
    chownSync(path('root-of-other-group'), 0, 33);
    await expectRoundTrip(repository);
  });
});

describe('times', () => {
  it.each([
    '-86400.5',
    '-0.000000001',
    '0',
    '0.999999999',
    '1700000000.123456789',
    '4294967296.000000001',
    '9999999999',
  ])('of everything, %s seconds from 1970', async (time) => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    const path = (name: string): string => join(repository.source, name);
    writeFileSync(path('file'), 'x');
    writeFileSync(path('empty'), '');
    mkdirSync(path('directory'));
    writeFileSync(path('directory/inner'), 'y');
    symlinkSync('x', path('link'));
    spawnSync('mkfifo', [path('fifo')]);
    const names = ['file', 'empty', 'link', 'fifo', 'directory', '.'].map((name) => path(name));
    expect(spawnSync('touch', ['-h', '-d', `@${time}`, ...names]).stderr.toString()).toBe('');
    await expectRoundTrip(repository);
  });
});

describe('special files', () => {
  it('a FIFO comes back; a socket is known and left out', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    spawnSync('mkfifo', ['-m', '0621', join(repository.source, 'fifo')]);
    mkdirSync(join(repository.source, 'sockets'));
    const server = createServer().listen(join(repository.source, 'sockets', 's'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    expect((await repository.backup()).problems).toEqual([]);
    const { target, problems } = await repository.restore();
    expect(problems).toEqual([]);
    const fifo = lstatSync(join(target, 'source', 'fifo'));
    expect(fifo.isFIFO()).toBe(true);
    expect(fifo.mode & 0o7777).toBe(0o621);
    expect(readdirSync(join(target, 'source', 'sockets'))).toEqual([]);
  });

  it('a device comes back with its numbers', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    skip(!canMakeDevices(), 'no device can be made here, not even by root');
    const repository = await makeTestRepository({}, temporaryDirectory());
    spawnSync('mknod', ['-m', '0640', join(repository.source, 'null'), 'c', '1', '3']);
    spawnSync('mknod', [join(repository.source, 'block'), 'b', '259', '70000']);
    await expectRoundTrip(repository);
  });
});

/** Containers often forbid it even to root. */
function canMakeDevices(): boolean {
  const path = `${process.env['TMPDIR'] ?? '/tmp'}/ldm-device-${process.pid}`;
  const made = spawnSync('mknod', [path, 'c', '1', '3']).status === 0;
  if (existsSync(path)) spawnSync('rm', [path]);
  return made;
}
