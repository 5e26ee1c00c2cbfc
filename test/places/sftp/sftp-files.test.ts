import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { OPEN_MODE, openFile } from '../../../src/places/sftp/sftp-calls.ts';
import { SftpConnection } from '../../../src/places/sftp/sftp-connection.ts';
import { renameIfNew } from '../../../src/places/sftp/sftp-rename.ts';
import { SftpWriter } from '../../../src/places/sftp/sftp-writer.ts';
import type { Step } from '../../../src/places/sftp/sftp-writer.ts';
import { narrowServer, plainServer, sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

let connections: SftpConnection[];

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

/** To a server that knows no extension. */
beforeAll(async () => {
  connections = [];
  if (sftpProblem !== undefined) return undefined;
  connections = await Promise.all([1, 2].map(async () => SftpConnection.open(plainServer(), undefined)));
  return async () => Promise.all(connections.map(async (connection) => connection.close()));
});

describe('a rename to a name that another process has taken', () => {
  test.each([false, true])('fails and leaves both files, also if it is repeated (%s)', async (isRepeated) => {
    const [source, target] = filesOf('mine', 'of another');
    await expect(renameIfNew(connections[0]!, { source, target, isRepeated })).rejects.toThrow('exists');
    expect([source, target].map((path) => readFileSync(path, 'utf8'))).toEqual(['mine', 'of another']);
  });

  test('is done if the file there is the own one, which an earlier attempt has linked', async () => {
    const [source, target] = filesOf('mine', 'mine');
    await renameIfNew(connections[0]!, { source, target, isRepeated: true });
    expect(existsSync(source)).toBe(false);
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });
});

describe('a file that is written', () => {
  test('is not durable if the server has lost its end', async () => {
    const { path, writer, answers } = await beginFile();
    await writer.append(Buffer.from('all of it'));
    await Promise.all(answers);
    truncateSync(path, 3);
    await expect(writer.sync()).rejects.toThrow('it is 3 bytes long after 9 bytes were written');
  });

  test('is written again, on a new connection, as far as it is not durable', async () => {
    const { path, writer, answers, reconnect } = await beginFile();
    await writer.append(Buffer.from('durable, '));
    await writer.sync();
    await writer.append(Buffer.from('lost, '));
    await Promise.all(answers);
    truncateSync(path, 9);
    reconnect();
    await writer.append(Buffer.from('and the end'));
    await writer.sync();
    expect(readFileSync(path, 'utf8')).toBe('durable, lost, and the end');
  });

  test('is made durable without a wait for the answer to what was written', async () => {
    const { path, writer, operations } = await beginFile();
    const content = Buffer.alloc(300_000, 'content');
    await writer.append(content);
    const syncing = writer.sync();
    // No answer can come before the next turn of the event loop.
    for (let count = 0; count < 20; count += 1) await Promise.resolve();
    expect(operations).toEqual(['append', 'sync']);
    await syncing;
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  test('is closed when the server has answered everything', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { writer, operations } = await beginFile(async () => answered);
    await writer.append(Buffer.from('late'));
    const closing = writer.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(operations).toEqual(['append']);
    answer();
    await closing;
    expect(operations).toEqual(['append', 'close']);
  });
});

function filesOf(...contents: readonly [string, string]): [string, string] {
  const directory = memoryDirectory();
  const paths = ['source', 'target'].map((name) => join(directory, name)) as [string, string];
  for (const [index, path] of paths.entries()) writeFileSync(path, contents[index]!);
  return paths;
}

/** `answers`: to what was sent so far. `beforeAnswer`: what the answer to an append waits for. */
async function beginFile(beforeAnswer: () => Promise<void> = async () => Promise.resolve()): Promise<{
  readonly path: string;
  readonly writer: SftpWriter;
  readonly answers: readonly Promise<unknown>[];
  readonly operations: readonly string[];
  readonly reconnect: () => void;
}> {
  const path = join(memoryDirectory(), 'file');
  let [connection] = connections as [SftpConnection, SftpConnection];
  const answers: Promise<unknown>[] = [];
  const operations: string[] = [];
  const step: Step = async (operation, _name, action) => {
    operations.push(operation);
    const running = action(connection);
    if (operation !== 'append') return await running;
    answers.push(running);
    await beforeAnswer();
    return await running;
  };
  const handle = await openFile(connection, path, OPEN_MODE.WRITE | OPEN_MODE.CREAT);
  const writer = new SftpWriter({ name: 'file', path, opened: { connection, handle } }, step);
  onTestFinished(async () => writer.close().catch(() => undefined));
  return { path, writer, answers, operations, reconnect: () => void (connection = connections[1]!) };
}

test('a server that keeps hardly any file open is listed all the same', async () => {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'packs', 'ab'), { recursive: true });
  writeFileSync(join(directory, 'packs', 'ab', 'one'), 'content');
  const backend = sftpBackend(directory, narrowServer());
  // The server tells its limits with the first answer.
  expect(await backend.sizeOf('config')).toBeUndefined();
  expect((await backend.list('packs')).map(({ name }) => name)).toEqual(['packs/ab/one']);
});
