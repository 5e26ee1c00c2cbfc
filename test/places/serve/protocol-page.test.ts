import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';

import { ServedDirectory } from '../../../src/places/serve/served-directory.ts';
import { serveSftp } from '../../../src/places/serve/sftp-server.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/internals/serve-protocol.md'), 'utf8');
const UNSUPPORTED = 8;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([uint32(value.length), Buffer.from(value)]);
}

/** Sends packets to a server, and returns the bodies of the answers. */
async function answersTo(...bodies: readonly Buffer[]): Promise<Buffer[]> {
  const input = new PassThrough();
  const output = new PassThrough();
  for (const body of bodies) input.write(Buffer.concat([uint32(body.length), body]));
  input.end();
  const directory = new ServedDirectory(temporaryDirectory(), { isAppendOnly: true, quota: undefined });
  await serveSftp(directory, { input, output }, new AbortController().signal);
  const bytes = output.read() as Buffer;
  const answers: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += 4 + answers.at(-1)!.length)
    answers.push(bytes.subarray(start + 4, start + 4 + bytes.readUInt32BE(start)));
  return answers;
}

const INIT = Buffer.concat([Buffer.of(1), uint32(3)]);

test('the page of the protocol has the extensions that are announced, with their versions', async () => {
  const [greeting] = await answersTo(INIT);
  const words: string[] = [];
  for (let start = 5; start < greeting!.length; start += 4 + words.at(-1)!.length)
    words.push(greeting!.toString('utf8', start + 4, start + 4 + greeting!.readUInt32BE(start)));
  const documented = [...page.matchAll(/^\| `([\w.-]+@[\w.]+)` \| (\d+) \|/gm)].flatMap(([, name, version]) => [
    name,
    version,
  ]);
  expect(words.length).toBeGreaterThan(0);
  expect(documented).toEqual(expect.arrayContaining(words));
  expect(documented).toHaveLength(words.length);
});

test('and the limits that are announced', async () => {
  const [, limits] = await answersTo(INIT, Buffer.concat([Buffer.of(200), uint32(1), text('limits@openssh.com')]));
  const numbers = [0, 1, 2, 3].map((index) => Number(limits!.readBigUInt64BE(5 + 8 * index)));
  const named = (value: number): string => value.toLocaleString('en-US');
  expect(numbers[1]).toBe(numbers[2]);
  expect(page).toContain(
    `packets of ${named(numbers[0]!)} bytes, transfers of ${named(numbers[1]!)}, ${numbers[3]!} handles`,
  );
});

test('and what is not supported', async () => {
  const requests = { RMDIR: 15, READLINK: 19, SYMLINK: 20, FSETSTAT: 10 };
  expect(page).toContain(
    `| ${Object.keys(requests)
      .map((name) => `\`${name}\``)
      .join(', ')} | not supported |`,
  );
  const body = [uint32(1), text('/a'), text('/b')];
  const others = [
    Buffer.concat([Buffer.of(15), ...body.slice(0, 2)]),
    Buffer.concat([Buffer.of(19), ...body.slice(0, 2)]),
    Buffer.concat([Buffer.of(20), ...body]),
    Buffer.concat([Buffer.of(10), ...body.slice(0, 2), uint32(0)]),
    Buffer.concat([Buffer.of(200), uint32(1), text('unknown@ldm')]),
  ];
  const [, ...answers] = await answersTo(INIT, ...others);
  expect(answers.map((answer) => answer.readUInt32BE(5))).toEqual(others.map(() => UNSUPPORTED));
});
