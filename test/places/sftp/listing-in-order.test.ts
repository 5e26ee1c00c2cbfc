import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { listInOrder } from '../../../src/places/sftp/sftp-listing.ts';
import { createPrng } from '../../support/prng.ts';
import { loggingServer, sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

/** A server that does one thing after the other. A listing takes its first requests, and some take more. */
class OrderedServer {
  readonly #queue: (() => void)[] = [];
  clock = 0;

  /** Resolves with the time at which the server gets to a request. */
  async request(): Promise<number> {
    return await new Promise((resolve) => {
      this.#queue.push(() => resolve((this.clock += 1)));
    });
  }

  /** Answers what was asked so far, in that order. Returns false if nothing was. */
  answer(): boolean {
    const asked = this.#queue.splice(0);
    for (const each of asked) each();
    return asked.length > 0;
  }
}

interface Listed {
  readonly beginTime: number;
  readonly endTime: number;
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])('each directory is listed after the one before it (seed %i)', async (seed) => {
  const random = createPrng(seed);
  const server = new OrderedServer();
  const directories = Array.from({ length: 7 }, (_, index) => `${index}`);
  const roundsOf = new Map(directories.map((name) => [name, 1 + random.int(3)]));
  const missing = new Set(directories.filter(() => random.int(4) === 0));
  const list = async (directory: string, onMore: () => void): Promise<Listed> => {
    const beginTime = await server.request();
    if (missing.has(directory)) throw new Error(`no ${directory}`);
    let endTime = beginTime;
    for (let round = 1; round < roundsOf.get(directory)!; round += 1) {
      onMore();
      endTime = await server.request();
    }
    return { beginTime, endTime };
  };
  const listing = Promise.allSettled(listInOrder(directories, list));
  while (await new Promise<boolean>((resolve) => setImmediate(() => resolve(server.answer()))));
  const outcomes = await listing;
  let lastEnd = 0;
  for (const [index, outcome] of outcomes.entries()) {
    const name = directories[index]!;
    expect(outcome.status).toBe(missing.has(name) ? 'rejected' : 'fulfilled');
    if (outcome.status === 'rejected') {
      expect(outcome.reason).toEqual(new Error(`no ${name}`));
      continue;
    }
    expect(outcome.value.beginTime).toBeGreaterThan(lastEnd);
    lastEnd = outcome.value.endTime;
  }
});

test('short directories are listed in one round', async () => {
  const server = new OrderedServer();
  const listing = Promise.all(listInOrder(['a', 'b', 'c'], async () => server.request()));
  server.answer();
  expect(await listing).toEqual([1, 2, 3]);
  expect(server.answer()).toBe(false);
});

describe('an SFTP server', () => {
  beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

  test('is asked again for what comes after a long directory, and after one with directories in it', async () => {
    const directory = temporaryDirectory();
    const [repository, log] = [join(directory, 'repository'), join(directory, 'log')];
    const names = ['locks', 'long', 'deep', 'deep/below', 'last'];
    for (const name of names) mkdirSync(join(repository, name), { recursive: true });
    for (let count = 0; count < 450; count += 1) writeFileSync(join(repository, 'long', `${count}`), '');
    const backend = sftpBackend(repository, loggingServer(log));
    // Only a server that has said what it can do is asked ahead.
    await backend.sizeOf('locks');
    backend.readAhead({ inTurn: [['locks'], ['long', 'deep'], ['last']] }, true);
    expect(await backend.list('locks')).toEqual([]);
    expect((await backend.list('long')).length).toBe(450);
    expect(await backend.list('deep')).toEqual([]);
    expect(await backend.list('last')).toEqual([]);
    await backend.close();
    const opened = [...readFileSync(log, 'utf8').matchAll(/opendir "[^"]*\/repository\/([^"]*)"/g)].map(
      ([, name]) => name,
    );
    expect(opened).toEqual(['locks', 'long', 'deep', 'last', 'deep/below', 'deep', 'last', 'deep/below', 'last']);
  });

  test('is asked again where the answers must be fresh', async () => {
    const directory = temporaryDirectory();
    for (const name of ['snapshots', 'index']) mkdirSync(join(directory, name));
    const backend = sftpBackend(directory);
    await backend.sizeOf('snapshots');
    backend.readAhead({ directories: ['snapshots', 'index', 'index'] });
    expect(await backend.list('snapshots')).toEqual([]);
    writeFileSync(join(directory, 'index/new'), '');
    expect(await backend.list('index')).toEqual([]);
    backend.readAhead({ inTurn: [['index'], ['snapshots']] }, true);
    expect((await backend.list('index')).map(({ name }) => name)).toEqual(['index/new']);
    await backend.close();
  });
});
