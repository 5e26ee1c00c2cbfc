import { linkSync, mkdirSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Quota } from '../../src/serve/quota.ts';
import { refusalOf } from '../../src/serve/request-error.ts';
import { ServedDirectory } from '../../src/serve/served-directory.ts';
import { serveSftp } from '../../src/serve/sftp-server.ts';
import { FLAGS } from '../support/serve-client.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';

const BLOCK_BYTES = 4096;

function served(
  directory: string,
  { blocks, isAppendOnly = false }: { readonly blocks?: number; readonly isAppendOnly?: boolean } = {},
): { readonly quota: Quota | undefined; readonly server: ServedDirectory } {
  const quota = blocks === undefined ? undefined : new Quota(directory, blocks * BLOCK_BYTES);
  const server = new ServedDirectory(directory, { isAppendOnly, quota });
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

const REQUESTS = 1000;
const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function packet(...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([uint32(body.length), body]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The path that a path of 200 bytes leads to, which is as long. */
function realpathRequest(id: number): Buffer {
  const path = Buffer.from(`/${'x'.repeat(199)}`);
  return packet(Buffer.of(16), uint32(id), uint32(path.length), path);
}

it('a client that does not read its answers has to wait with its requests', async () => {
  const waiting: (() => void)[] = [];
  let answeredBytes = 0;
  const output = new Writable({
    highWaterMark: 1024,
    write: (bytes: Buffer, _encoding, done) => {
      answeredBytes += bytes.length;
      waiting.push(done);
    },
  });
  const input = new PassThrough();
  const { server } = served(temporaryDirectory());
  const serving = serveSftp(server, { input, output }, new AbortController().signal);
  input.write(packet(Buffer.of(1), uint32(3)));
  for (let id = 0; id < REQUESTS; id += 1) input.write(realpathRequest(id));
  input.end();
  for (let count = 0; count < 100; count += 1) await turn();
  expect(output.writableLength).toBeLessThan(10_000);
  const ended = { isServed: false };
  void serving.then(() => (ended.isServed = true));
  while (!ended.isServed || output.writableLength > 0) {
    for (const done of waiting.splice(0)) done();
    await turn();
  }
  // Each answer has the path twice.
  expect(answeredBytes).toBeGreaterThan(REQUESTS * 400);
});
