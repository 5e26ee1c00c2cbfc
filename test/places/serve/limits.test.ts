import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Quota } from '../../../src/places/serve/quota.ts';
import { HANDLES_MAX } from '../../../src/places/serve/open-files.ts';
import type { Limits } from '../../../src/places/serve/open-files.ts';
import { refusalOf } from '../../../src/places/serve/request-error.ts';
import { ServedDirectory } from '../../../src/places/serve/served-directory.ts';
import { FLAGS } from '../../support/serve-client.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const BLOCK_BYTES = 4096;

function served(
  directory: string,
  { blocks, isAppendOnly = false, ...more }: Partial<Limits> & { readonly blocks?: number } = {},
): { readonly quota: Quota | undefined; readonly server: ServedDirectory } {
  const quota = blocks === undefined ? undefined : new Quota(directory, blocks * BLOCK_BYTES);
  const server = new ServedDirectory(directory, { isAppendOnly, quota, ...more });
  onTestFinished(() => server.closeAll());
  return { quota, server };
}

describe('a quota', () => {
  it('can be filled exactly, and not by a byte more', () => {
    const { server, quota } = served(temporaryDirectory(), { blocks: 2 });
    const handle = server.files.open('/file', FLAGS.WRITE | FLAGS.CREAT);
    server.files.write(handle, 0, Buffer.alloc(2 * BLOCK_BYTES));
    expect(quota!.freeBytes).toBe(0);
    expect(() => server.files.write(handle, 2 * BLOCK_BYTES, Buffer.of(1))).toThrow(
      'the quota on the server is used up',
    );
  });

  it('counts a file once, however many names it has', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'one'), 'x');
    linkSync(join(directory, 'one'), join(directory, 'other'));
    expect(served(directory, { blocks: 3 }).quota!.freeBytes).toBe(2 * BLOCK_BYTES);
  });

  it('is not used up by writes that fail', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    const { server, quota } = served(directory, { blocks: 1 });
    const handle = server.files.open('/file', FLAGS.READ);
    for (let count = 0; count < 3; count += 1)
      expect(() => server.files.write(handle, 0, Buffer.of(1))).toThrow('EBADF');
    expect(quota!.freeBytes).toBe(BLOCK_BYTES);
  });

  it('limits the room that clients are told of', () => {
    const directory = temporaryDirectory();
    const { bsize, bavail } = statfsSync(directory);
    const blocks = (8 * bsize) / BLOCK_BYTES;
    expect(bavail).toBeGreaterThan(8);
    expect(served(directory, { blocks }).server.space()).toMatchObject({ blockBytes: bsize, freeBlocks: 8 });
    const { server } = served(directory);
    expect(server.space().freeBlocks).toBeGreaterThan(8);
  });
});

describe('a served directory', () => {
  it('is listed to its end, though most of it is removed meanwhile', () => {
    const directory = temporaryDirectory();
    for (let count = 0; count < 250; count += 1) writeFileSync(join(directory, `${count}`), '');
    const { server } = served(directory);
    const whole = server.openDirectory('/');
    const order = [1, 2, 3].flatMap(() => server.readDirectory(whole).map(({ name }) => name));
    expect(order).toHaveLength(250);
    const handle = server.openDirectory('/');
    for (const name of order.slice(0, 220)) server.remove(`/${name}`);
    expect(server.readDirectory(handle).map(({ name }) => name)).toEqual(order.slice(220));
    expect(server.readDirectory(handle)).toEqual([]);
  });

  it('that is append-only does not let a file change that has its final name, too', () => {
    const directory = temporaryDirectory();
    for (const name of ['tmp', 'snapshots']) mkdirSync(join(directory, name));
    const temporary = join('tmp', '0'.repeat(32));
    const { server } = served(directory, { isAppendOnly: true });
    const handle = server.files.open(temporary, FLAGS.WRITE | FLAGS.CREAT);
    server.files.write(handle, 0, Buffer.from('content'));
    // Another server is between the two steps of giving it its name.
    const stored = join(directory, 'snapshots', '1'.repeat(64));
    linkSync(join(directory, temporary), stored);
    expect(() => server.files.write(handle, 0, Buffer.from('attack'))).toThrow('the file has another name now');
    expect(readFileSync(stored, 'utf8')).toBe('content');
  });

  it('that is append-only has only directories of repositories, and those that lead to them', () => {
    const directory = temporaryDirectory();
    const { server } = served(directory, { isAppendOnly: true });
    const made = ['/photos', '/photos/2024', '/photos/2024/packs', '/photos/2024/packs/0f', '/photos/2024/snapshots'];
    for (const path of [...made, '/photos/2024/planes', '/photos/2024/planes/000000000012']) server.makeDirectory(path);
    const refusal = 'the server is append-only: it lets clients make only directories of repositories';
    const inside = ['config', 'config.bak', 'groups', 'realm', 'reserve', 'group-id', `snapshots/${'1'.repeat(64)}`];
    for (const name of [...inside, 'packs/0F', 'packs/0f/0f', 'packs/photos', 'planes/12', 'snapshots/tmp'])
      expect(() => server.makeDirectory(`/photos/2024/${name}`), name).toThrow(refusal);
    writeFileSync(join(directory, 'photos/2024/config'), '');
    for (const name of ['photos', 'config.new']) {
      expect(() => server.makeDirectory(`/photos/2024/${name}`), name).toThrow(refusal);
    }
    server.makeDirectory('/photos/2024/locks');
    server.makeDirectory('/photos/2025');
    const { server: free } = served(directory);
    free.makeDirectory('/photos/2024/anything');
  });

  it('that is append-only takes a file again that it has, of any size, and no other one', () => {
    const directory = temporaryDirectory();
    for (const name of ['tmp', 'snapshots']) mkdirSync(join(directory, name));
    const { server } = served(directory, { isAppendOnly: true });
    const stored = Buffer.alloc(600_000, 'stored');
    const target = join('snapshots', '1'.repeat(64));
    writeFileSync(join(directory, target), stored);
    const temporary = join('tmp', '0'.repeat(32));
    writeFileSync(join(directory, temporary), Buffer.from(stored).fill(0, stored.length - 1));
    expect(() => server.replace(temporary, target)).toThrow('not replace what is stored');
    writeFileSync(join(directory, temporary), stored);
    server.replace(temporary, target);
    expect(existsSync(join(directory, temporary))).toBe(false);
  });

  it('keeps the names of listings that nobody reads up to a limit', () => {
    const directory = temporaryDirectory();
    for (let count = 0; count < 20; count += 1) writeFileSync(join(directory, `${count}`), '');
    const { server } = served(directory, { listedNamesMax: 50 });
    const handles = [server.openDirectory('/'), server.openDirectory('/')];
    expect(() => server.openDirectory('/')).toThrow('more than 50 names in open listings');
    server.close(handles[0]!);
    server.openDirectory('/');
    // A large directory can be listed alone.
    const { server: small } = served(directory, { listedNamesMax: 1 });
    expect(small.readDirectory(small.openDirectory('/'))).toHaveLength(20);
  });

  it(`has up to ${HANDLES_MAX} open files and as many listings`, () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    const { server } = served(directory);
    const opened: string[] = [];
    for (let count = 0; count < HANDLES_MAX; count += 1) {
      opened.push(server.files.open('/file', FLAGS.READ), server.openDirectory('/'));
    }
    const before = readdirSync('/proc/self/fd').length;
    for (let count = 0; count < 1000; count += 1) {
      expect(() => server.files.open('/file', FLAGS.READ)).toThrow(`more than ${HANDLES_MAX} open files`);
      expect(() => server.openDirectory('/')).toThrow(`more than ${HANDLES_MAX} listings`);
    }
    expect(readdirSync('/proc/self/fd')).toHaveLength(before);
    for (const handle of opened) server.close(handle);
    server.files.open('/file', FLAGS.READ);
  });

  it('shows none of its paths in errors', () => {
    const directory = temporaryDirectory();
    const { server } = served(directory);
    server.makeDirectory('/made');
    let message = '';
    try {
      server.makeDirectory('/made');
    } catch (error) {
      message = refusalOf(error).message;
    }
    expect(message).toBe('Failure (EEXIST)');
    expect(statSync(join(directory, 'made')).isDirectory()).toBe(true);
  });
});
