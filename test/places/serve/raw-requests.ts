import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, onTestFinished } from 'vitest';

import { Quota } from '../../../src/places/serve/quota.ts';
import { ServedDirectory } from '../../../src/places/serve/served-directory.ts';
import { serveSftp } from '../../../src/places/serve/sftp-server.ts';
import { FLAGS } from '../../support/serve-client.ts';

export const OK = 0;
export const NO_SUCH_FILE = 2;
export const PERMISSION_DENIED = 3;
export const FAILURE = 4;
export const BAD_MESSAGE = 5;
const STATUS = 101;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function uint64(value: number): Buffer {
  return Buffer.concat([uint32(Math.floor(value / 2 ** 32)), uint32(value % 2 ** 32)]);
}

export function text(value: string): Buffer {
  return Buffer.concat([uint32(value.length), Buffer.from(value)]);
}

/** A request without its number. */
export type Request = readonly [type: number, ...fields: readonly Buffer[]];

export const extended = (name: string, ...fields: readonly Buffer[]): Request => [200, text(name), ...fields];
export const open = (handle: string, path: string, flags: number): Request =>
  extended('open@ldm', text(handle), text(path), uint32(flags));
export const chain = (count: number): Request => extended('chain@ldm', uint32(count));
export const expectSize = (path: string, least: number, most: number): Request =>
  extended('expect@ldm', text(path), uint64(least), uint64(most));
export const write = (handle: string, bytes: string): Request => [6, text(handle), uint64(0), text(bytes)];
export const read = (handle: string): Request => [5, text(handle), uint64(0), uint32(100)];
export const close = (handle: string): Request => [4, text(handle)];
export const readDirectory = (handle: string): Request => [12, text(handle)];
export const makeDirectory = (path: string): Request => [14, text(path), uint32(0)];
export const remove = (path: string): Request => [13, text(path)];
export const rename = (source: string, target: string): Request => [18, text(source), text(target)];
export const sync = (handle: string): Request => extended('fsync@openssh.com', text(handle));
export const NEW: number = FLAGS.WRITE | FLAGS.CREAT | FLAGS.EXCL;

interface Options {
  readonly isAppendOnly?: boolean;
  readonly quotaBytes?: number;
}

/** Sends requests to a server at once; returns the answers. */
export async function answersTo(
  directory: string,
  requests: readonly Request[],
  options: Options = {},
): Promise<Buffer[]> {
  const { isAppendOnly = false, quotaBytes } = options;
  const quota = quotaBytes === undefined ? undefined : new Quota(directory, quotaBytes);
  const input = new PassThrough();
  const output = new PassThrough();
  const parts: Buffer[] = [];
  output.on('data', (part: Buffer) => parts.push(part));
  const packets = requests.map(([type, ...fields], id) => Buffer.concat([Buffer.of(type), uint32(id), ...fields]));
  for (const body of [Buffer.concat([Buffer.of(1), uint32(3)]), ...packets])
    input.write(Buffer.concat([uint32(body.length), body]));
  input.end();
  const server = new ServedDirectory(directory, { isAppendOnly, quota });
  onTestFinished(() => server.closeAll());
  await serveSftp(server, { input, output }, new AbortController().signal);
  await finished(output.end());
  const bytes = Buffer.concat(parts);
  const answers: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += 4 + answers.at(-1)!.length)
    answers.push(bytes.subarray(start + 4, start + 4 + bytes.readUInt32BE(start)));
  return answers.slice(1);
}

/** Returns the statuses of the answers; undefined for those that are no status. */
export async function statusesOf(...given: Parameters<typeof answersTo>): Promise<(number | undefined)[]> {
  const answers = await answersTo(...given);
  answers.forEach((answer, id) => expect(answer.readUInt32BE(1)).toBe(id));
  return answers.map((answer) => (answer[0] === STATUS ? answer.readUInt32BE(5) : undefined));
}
