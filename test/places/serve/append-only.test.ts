import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { DIRECTORIES, EMPTY, FORBIDDEN, STORED, TRANSIENT, id, temporary } from './append-only-names.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { serveCommandsHere } from '../../support/serve-here.ts';
import { FLAGS, RawClient } from '../../support/serve-client.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

beforeEach(() => serveCommandsHere());

const NAMES = [...STORED, ...FORBIDDEN, ...TRANSIENT, 'packs', 'snapshots', '.', `snapshots/${id('6')}`];
const isTransient = (name: string): boolean => TRANSIENT.includes(name);

/** Returns the content of every file that is more than a lock or a temporary file, by name. */
function storedIn(directory: string): Map<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const named = files.map((path) => [path.slice(directory.length + 1), path] as const);
  return new Map(
    named.filter(([name]) => !isTransient(name)).map(([name, path]) => [name, readFileSync(path, 'latin1')]),
  );
}

/** Another spelling of a path in a repository. */
function spell(prng: Prng, repository: string, name: string): string {
  const ways = ['/', '', './', '/../', '/./x/..//', `/${repository}/../`];
  return `${ways[prng.int(ways.length)]!}${repository}/${name}`;
}

/** Creates a repository with some files, as an administrator would. */
async function makeRepository(admin: RawClient, repository: string): Promise<void> {
  await admin.makeDirectory(repository);
  await admin.makeDirectory(`${repository}/packs`);
  for (const name of [...DIRECTORIES, ...EMPTY]) {
    if (name !== '') await admin.makeDirectory(`${repository}/${name}`);
  }
  for (const [index, name] of STORED.entries()) {
    if (index % 3 !== 2) await admin.put(`${repository}/${name}`, `stored ${name}`);
  }
}

class Attacker {
  readonly #prng: Prng;
  readonly #clients: readonly RawClient[];
  readonly #repository: string;
  readonly #handles: { readonly client: RawClient; readonly handle: Buffer }[] = [];

  constructor(prng: Prng, clients: readonly RawClient[], repository: string) {
    this.#prng = prng;
    this.#clients = clients;
    this.#repository = repository;
  }

  /** Does something, which the server may refuse. Returns whether it was done. */
  async act(): Promise<boolean> {
    const prng = this.#prng;
    const client = this.#one(this.#clients);
    const [path, other] = [this.#path(), this.#path()];
    const flags = prng.int(64);
    const open = async (name: string): Promise<void> => {
      this.#handles.push({ client, handle: await client.open(name, flags) });
    };
    const openUnder = async (name: string): Promise<void> => {
      this.#handles.push({ client, handle: await client.openUnder(`=${prng.int(1000)}`, name, flags) });
    };
    const ways: (() => Promise<unknown>)[] = [
      async () => open(path),
      async () => open(this.#pathOf(this.#one(TRANSIENT))),
      async () => openUnder(path),
      async () => openUnder(this.#pathOf(this.#one(TRANSIENT))),
      // What comes next is done as a part of it, or not at all.
      async () => client.chain(prng.int(4)),
      async () => client.put(this.#pathOf(this.#one(TRANSIENT)), `attack ${prng.int(1000)}`),
      async () => client.rename(path, other),
      async () => client.rename(this.#pathOf(this.#one(TRANSIENT)), other),
      async () => client.replace(path, other),
      async () => client.replace(this.#pathOf(this.#one(TRANSIENT)), other),
      async () => this.#publish(client),
      async () => this.#publish(client),
      async () => client.link(path, other),
      async () => client.link(path, this.#pathOf(this.#one(TRANSIENT))),
      async () => client.remove(path),
      async () => client.removeDirectory(path),
      async () => client.makeDirectory(path),
      async () => client.symlink(path, other),
      async () => client.set(path, { size: prng.int(10) }),
      async () => client.set(path, { atime: 1, mtime: 1 }),
      async () => this.#useHandle(),
      async () => this.#useHandle(),
      async () => this.#useHandle(),
    ];
    return await this.#one(ways)().then(
      () => true,
      () => false,
    );
  }

  async #publish(client: RawClient): Promise<void> {
    const source = this.#pathOf(this.#one(TRANSIENT.slice(0, 3)));
    await client.put(source, 'added');
    await client.replace(source, this.#pathOf(this.#one([...STORED, ...FORBIDDEN])));
  }

  /** A handle may be of a file that has another name by now, perhaps by the other connection. */
  async #useHandle(): Promise<void> {
    if (this.#handles.length === 0) return;
    const { client, handle } = this.#one(this.#handles);
    if (this.#prng.int(4) === 0) await client.setOpen(handle, { size: 0 });
    else await client.write(handle, this.#prng.int(20), 'overwritten');
  }

  async end(): Promise<void> {
    for (const { client, handle } of this.#handles) await client.close(handle);
  }

  #path(): string {
    return this.#pathOf(this.#one(NAMES));
  }

  #pathOf(name: string): string {
    return spell(this.#prng, this.#repository, name);
  }

  #one<T>(values: readonly T[]): T {
    return values[this.#prng.int(values.length)]!;
  }
}

const SEEDS = seedsOf(1, 20);
let doneCount = 0;
let addedCount = 0;

describe('an append-only directory', () => {
  test.each(SEEDS)('keeps every file as it is, whatever two connections do (seed %i)', async (seed) => {
    const directory = memoryDirectory();
    const admin = await RawClient.connect(directory);
    const clients = [
      await RawClient.connect(directory, '--append-only'),
      await RawClient.connect(directory, '--append-only'),
    ];
    const prng = createPrng(seed);
    for (let round = 0; round < 12; round += 1) {
      const repository = `laptop${round}`;
      await makeRepository(admin, repository);
      const attacker = new Attacker(prng, clients, repository);
      let before = storedIn(join(directory, repository));
      for (let step = 0; step < 150; step += 1) {
        if (await attacker.act()) doneCount += 1;
        const after = storedIn(join(directory, repository));
        const changed = [...before].filter(([name, content]) => after.get(name) !== content).map(([name]) => name);
        const forbidden = FORBIDDEN.filter((name) => after.has(name));
        expect({ changed, forbidden }, `${repository}, step ${step}`).toEqual({ changed: [], forbidden: [] });
        addedCount += after.size - before.size;
        before = after;
      }
      await attacker.end();
    }
  });

  // Of all seeds: with one, about 310 steps of 1,800 succeed, give or take 20, and add 26 files, give or take 4.
  test(`was attacked with success (seeds ${SEEDS.join(', ')})`, () => {
    expect(doneCount).toBeGreaterThan(200);
    expect(addedCount).toBeGreaterThan(12);
  });

  test('refuses what would change it, and says why', async () => {
    const directory = memoryDirectory();
    const admin = await RawClient.connect(directory);
    await makeRepository(admin, 'r');
    const client = await RawClient.connect(directory, '--append-only');
    const refused = { status: 3, message: expect.stringContaining('the server is append-only') };
    const snapshot = `r/snapshots/${id('2')}`;
    for (const flags of [FLAGS.WRITE, FLAGS.TRUNC, FLAGS.READ | FLAGS.CREAT, FLAGS.WRITE | FLAGS.CREAT | FLAGS.EXCL]) {
      await expect(client.open(snapshot, flags), String(flags)).rejects.toMatchObject(refused);
    }
    await client.put(`r/${temporary('0')}`, 'new');
    await expect(client.replace(`r/${temporary('0')}`, snapshot)).rejects.toMatchObject(refused);
    await expect(client.rename(`r/${temporary('0')}`, snapshot)).rejects.toMatchObject({ status: 4 });
    await expect(client.replace(snapshot, `r/deleted/${id('2')}`)).rejects.toMatchObject(refused);
    await expect(client.replace(`r/${temporary('0')}`, `r/condemned/${id('2')}`)).rejects.toMatchObject(refused);
    await expect(client.link(snapshot, `r/${temporary('1')}`)).rejects.toMatchObject(refused);
    await expect(client.remove(snapshot)).rejects.toMatchObject(refused);
    await expect(client.set(snapshot, { size: 0 })).rejects.toMatchObject(refused);
    await expect(client.put(`r/snapshots/${id('9')}`, 'x')).rejects.toMatchObject(refused);
    for (const name of ['r/other', 'r/packs/zz', `r/snapshots/${id('9')}`, 'r/realm']) {
      await expect(client.makeDirectory(name), name).rejects.toMatchObject(refused);
    }
    await client.makeDirectory('r/packs/7f');
    await client.makeDirectory('another');
  });

  test('lets a client add each file that is stored', async () => {
    const client = await RawClient.connect(memoryDirectory(), '--append-only');
    const inner = [...DIRECTORIES, ...EMPTY].filter((name) => name !== '').map((name) => `r/${name}`);
    for (const name of ['r', 'r/packs', ...inner]) await client.makeDirectory(name);
    for (const name of STORED) {
      await client.put(`r/${temporary('0')}`, name);
      await client.rename(`r/${temporary('0')}`, `r/${name}`);
      expect(await client.read(`r/${name}`)).toBe(name);
    }
  });

  test('takes a file that it has already, and removes the temporary one', async () => {
    const directory = memoryDirectory();
    await makeRepository(await RawClient.connect(directory), 'r');
    const client = await RawClient.connect(directory, '--append-only');
    const name = `index/${id('1')}`;
    await (await RawClient.connect(directory)).put(`r/${name}`, 'segment');
    await client.put(`r/${temporary('0')}`, 'segment');
    await client.replace(`r/${temporary('0')}`, `r/${name}`);
    expect(await client.list('r/tmp')).toEqual([]);
    await client.put(`r/${temporary('0')}`, 'SEGMENT');
    await expect(client.replace(`r/${temporary('0')}`, `r/${name}`)).rejects.toMatchObject({ status: 3 });
    expect(await client.read(`r/${name}`)).toBe('segment');
  });

  test('does not let an open file change once it has its name, not even by another connection', async () => {
    const directory = memoryDirectory();
    await makeRepository(await RawClient.connect(directory), 'r');
    const [one, other] = [
      await RawClient.connect(directory, '--append-only'),
      await RawClient.connect(directory, '--append-only'),
    ];
    await one.put(`r/${temporary('0')}`, 'content');
    const handles = [
      await one.open(`r/${temporary('0')}`, FLAGS.WRITE),
      await other.open(`r/${temporary('0')}`, FLAGS.WRITE),
    ];
    await one.replace(`r/${temporary('0')}`, `r/snapshots/${id('8')}`);
    // Another file under the old name does not help.
    await other.put(`r/${temporary('0')}`, 'decoy');
    await expect(one.write(handles[0]!, 0, 'attack')).rejects.toMatchObject({ status: 3 });
    await expect(other.write(handles[1]!, 0, 'attack')).rejects.toMatchObject({ status: 3 });
    expect(await one.read(`r/snapshots/${id('8')}`)).toBe('content');
  });
});
