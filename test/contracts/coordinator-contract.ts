import { randomBytes } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { Coordinator } from '../../src/realm/coordination/coordinator.ts';

/** Opens another client of the same coordinator. */
export type OpenClient = () => Promise<Coordinator>;

const WRITERS = 20;
const BURST = 100;

/** What every coordinator does. `prepare` returns how to open clients of an empty one; the test ends them. */
export function describeCoordinator(name: string, prepare: () => Promise<OpenClient>): void {
  const domain = (): string => randomBytes(32).toString('hex');
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  const textOf = (record: { readonly bytes: Uint8Array } | undefined): string | undefined =>
    record && Buffer.from(record.bytes).toString();

  describe(name, () => {
    it('keeps a record until it is removed, and lists it', async () => {
      await using clients = new Clients(await prepare());
      const [writer, reader] = [await clients.open(), await clients.open()];
      const id = domain();
      expect(await reader.list('members')).toEqual([]);
      expect(await reader.read('members', id)).toBeUndefined();
      const version = await writer.write('members', id, bytes('a'), undefined);
      expect(version).toBeDefined();
      expect(await reader.list('members')).toEqual([id]);
      expect(await reader.list('state')).toEqual([]);
      expect(textOf(await reader.read('members', id))).toBe('a');
      await writer.remove('members', id);
      await writer.remove('members', id);
      expect(await reader.list('members')).toEqual([]);
      expect(await reader.read('members', id)).toBeUndefined();
    });

    it('writes only over the version that the writer has read', async () => {
      await using clients = new Clients(await prepare());
      const client = await clients.open();
      const id = domain();
      const first = await client.write('state', id, bytes('1'), undefined);
      expect(await client.write('state', id, bytes('again'), undefined)).toBeUndefined();
      const second = await client.write('state', id, bytes('2'), first);
      expect(second).toBeDefined();
      expect(await client.write('state', id, bytes('late'), first)).toBeUndefined();
      expect(textOf(await client.read('state', id))).toBe('2');
      expect((await client.read('state', id))?.version).toBe(second);
    });

    it('lets one of many writers win, whether there is a record or not', async () => {
      await using clients = new Clients(await prepare());
      const writers = await Promise.all(Array.from({ length: WRITERS }, async () => clients.open()));
      const id = domain();
      for (let round = 0; round < 5; round += 1) {
        const version = (await writers[0]!.read('state', id))?.version;
        const results = await Promise.all(
          writers.map(async (writer, index) => writer.write('state', id, bytes(`${round}-${index}`), version)),
        );
        const winners = [...results.keys()].filter((index) => results[index] !== undefined);
        expect(winners).toHaveLength(1);
        expect(textOf(await writers[0]!.read('state', id))).toBe(`${round}-${winners[0]}`);
      }
    });

    it('tells of changes, so that a reader ends with the last of a burst', async () => {
      await using clients = new Clients(await prepare());
      const [writer, watcher] = [await clients.open(), await clients.open()];
      const id = domain();
      let seen: string | undefined;
      let reading = Promise.resolve();
      const ended = new Promise<void>((resolve) => {
        void watcher.watch(() => {
          reading = reading.then(async () => {
            seen = textOf(await watcher.read('state', id));
            if (seen === String(BURST)) resolve();
          });
        });
      });
      let version: number | undefined;
      for (let count = 1; count <= BURST; count += 1) {
        version = await writer.write('state', id, bytes(String(count)), version);
        expect(version).toBeDefined();
      }
      await ended;
      expect(seen).toBe(String(BURST));
    });

    it('tells of a new member, and of one that has gone', async () => {
      await using clients = new Clients(await prepare());
      const [writer, watcher] = [await clients.open(), await clients.open()];
      const id = domain();
      const changes = new Signal();
      const end = await watcher.watch(() => changes.raise());
      await writer.write('members', id, bytes('a'), undefined);
      while ((await watcher.list('members')).length === 0) await changes.next();
      await writer.remove('members', id);
      while ((await watcher.list('members')).length > 0) await changes.next();
      end();
    });

    it('keeps a live record until the client that announced it is closed', async () => {
      await using clients = new Clients(await prepare());
      const [agent, reader] = [await clients.open(), await clients.open()];
      const id = domain();
      await agent.announce(id, bytes('here'));
      expect(textOf(await reader.read('live', id))).toBe('here');
      await agent.announce(id, bytes('there'));
      expect(textOf(await reader.read('live', id))).toBe('there');
      await agent.close();
      expect(await reader.list('live')).toEqual([]);
    });

    it('lets a new agent take over from one that has not ended', async () => {
      await using clients = new Clients(await prepare());
      const [old, next, reader] = [await clients.open(), await clients.open(), await clients.open()];
      const id = domain();
      await old.announce(id, bytes('old'));
      await next.announce(id, bytes('next'));
      await old.close();
      expect(textOf(await reader.read('live', id))).toBe('next');
    });
  });
}

class Clients implements AsyncDisposable {
  readonly #openClient: OpenClient;
  readonly #opened: Coordinator[] = [];

  constructor(openClient: OpenClient) {
    this.#openClient = openClient;
  }

  async open(): Promise<Coordinator> {
    const client = await this.#openClient();
    this.#opened.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#opened) await client.close();
  }
}

/** Waits for the next call of `raise`, or one that nobody has waited for. */
class Signal {
  #isRaised = false;
  #wake: (() => void) | undefined;

  raise(): void {
    this.#isRaised = true;
    this.#wake?.();
  }

  async next(): Promise<void> {
    if (!this.#isRaised) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isRaised = false;
  }
}
