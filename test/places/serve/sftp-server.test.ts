import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';

import { ServedDirectory } from '../../../src/places/serve/served-directory.ts';
import { serveSftp } from '../../../src/places/serve/sftp-server.ts';
import { FLAGS } from '../../support/serve-client.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

function served(directory: string): ServedDirectory {
  const server = new ServedDirectory(directory, { isAppendOnly: false, quota: undefined });
  onTestFinished(() => server.closeAll());
  return server;
}

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
  const server = served(temporaryDirectory());
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

/** Answers a client that sends these pieces, and reads only when `read` is called. */
function startServing(
  server: ServedDirectory,
  pieces: readonly Uint8Array[],
): { readonly serving: Promise<void>; readonly output: Writable; readonly read: () => number } {
  const waiting: (() => void)[] = [];
  let bytesRead = 0;
  const write = (bytes: Buffer, _encoding: unknown, done: () => void): void => {
    bytesRead += bytes.length;
    waiting.push(done);
  };
  const output = new Writable({ highWaterMark: 1024, write });
  const input = new PassThrough();
  for (const piece of pieces) input.write(piece);
  input.end();
  const serving = serveSftp(server, { input, output }, new AbortController().signal);
  const read = (): number => {
    for (const done of waiting.splice(0)) done();
    return bytesRead;
  };
  return { serving, output, read };
}

const GREETING = packet(Buffer.of(1), uint32(3));

it('one piece of input with requests for 200 MB takes memory for one answer', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'file'), Buffer.alloc(300_000));
  const server = served(directory);
  const handle = Buffer.from(server.files.open('/file', FLAGS.READ));
  const requests = Array.from({ length: REQUESTS }, (_, id) =>
    packet(Buffer.of(5), uint32(id), uint32(handle.length), handle, Buffer.alloc(8), uint32(200_000)),
  );
  const { serving, output, read } = startServing(server, [Buffer.concat([GREETING, ...requests])]);
  const ended = { isServed: false };
  void serving.then(() => (ended.isServed = true));
  let largest = 0;
  while (!ended.isServed || output.writableLength > 0) {
    largest = Math.max(largest, output.writableLength);
    read();
    await turn();
  }
  expect(largest).toBeLessThan(300_000);
  expect(read()).toBeGreaterThan(REQUESTS * 200_000);
});

it('a packet is answered however slowly it arrives', async () => {
  const bytes = Buffer.concat([GREETING, realpathRequest(1), realpathRequest(2)]);
  const answersTo = async (pieces: readonly Uint8Array[]): Promise<number> => {
    const { serving, output, read } = startServing(served(temporaryDirectory()), pieces);
    const ended = { isServed: false };
    void serving.then(() => (ended.isServed = true));
    for (; !ended.isServed || output.writableLength > 0; await turn()) read();
    return read();
  };
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  expect(await answersTo(single)).toBe(await answersTo([bytes]));
});

it.each([0, 256 * 1024 + 1, 2 ** 31, 2 ** 32 - 1])('a packet of %i bytes is refused', async (length) => {
  const { serving, read } = startServing(served(temporaryDirectory()), [GREETING, uint32(length), Buffer.of(16)]);
  setImmediate(read);
  await expect(serving).rejects.toMatchObject({
    code: 'SERVE',
    message: `the client does not follow the SFTP protocol: a packet of ${length} bytes; it may have up to 262144`,
  });
});
