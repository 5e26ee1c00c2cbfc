import { packName } from '../../../src/core/format/layout.ts';
import { describe, expect, test } from 'vitest';

import { createPackDigest } from '../../../src/core/crypto/pack-digest.ts';
import type { PackHash } from '../../../src/core/crypto/pack-digest.ts';
import { BackendError } from '../../../src/core/errors.ts';
import { decodeBlockHeader } from '../../../src/core/format/block.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { readPackContents, readStoredBlock } from '../../../src/core/store/pack-reader.ts';
import type { EncodedBlock } from '../../../src/core/store/block-codec.ts';
import type { StagedFile } from '../../../src/core/backend/backend.ts';
import { PackWriter } from '../../../src/core/store/pack-writer.ts';
import type { PackSink } from '../../../src/core/store/pack-writer.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { emptyStorage, rawBlock, sinkOf, placeOf } from './store-support.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

const prng = createPrng(20261120);

function makeBlock(sizeBytes: number): EncodedBlock {
  return rawBlock('data', prng.bytes(sizeBytes));
}

function makeWriter(
  backend: MemoryBackend | FaultyBackend,
  packBytes = 1e9,
  packHash: PackHash = 'blake3',
): { writer: PackWriter; packs: PackContents[] } {
  const packs: PackContents[] = [];
  const onPack = (pack: PackContents): void => void packs.push(pack);
  return {
    writer: new PackWriter({ sink: sinkOf(backend), kind: 'data', seals: PLAIN, packHash, packBytes, onPack }),
    packs,
  };
}

describe('a pack', () => {
  test.each(['blake3', 'sha256'] as const)('is named by its %s and says itself what it holds', async (packHash) => {
    const backend = emptyStorage();
    const { writer, packs } = makeWriter(backend, 1e9, packHash);
    const blocks = [100, 1, 5000].map(makeBlock);
    for (const block of blocks) await writer.writeBlock(block);
    expect(packs).toEqual([]);
    await writer.finish();
    const [pack] = packs;
    const bytes = backend.peek(packName(pack!.id))!;
    const digest = createPackDigest(packHash);
    digest.update(bytes);
    expect(digest.end()).toBe(pack!.id);
    expect(pack!.sizeBytes).toBe(bytes.length);
    const contents = await readPackContents(plainPlace(backend), pack!.id);
    expect(JSON.stringify(contents)).toBe(JSON.stringify(pack));
    for (const [index, block] of contents.blocks.entries()) {
      const stored = await readStoredBlock(backend, placeOf(contents, block));
      expect(decodeBlockHeader(stored)).toMatchObject({
        kind: 'data',
        codec: 'raw',
        rawBytes: blocks[index]!.rawBytes,
      });
      expect(stored.equals(Buffer.concat(blocks[index]!.pieces))).toBe(true);
    }
    expect(backend.names()).toEqual([packName(pack!.id)]);
  });

  test('is closed at the size given, and the next one begins', async () => {
    const backend = emptyStorage();
    const { writer, packs } = makeWriter(backend, 10_000);
    for (let count = 0; count < 10; count += 1) await writer.writeBlock(makeBlock(3000));
    await writer.finish();
    expect(packs.map(({ blocks }) => blocks.length)).toEqual([4, 4, 2]);
    expect(new Set(packs.map(({ id }) => id)).size).toBe(3);
    expect((await backend.list('packs')).length).toBe(3);
    for (const { id, blocks } of packs)
      expect((await readPackContents(plainPlace(backend), id)).blocks.length).toBe(blocks.length);
  });

  test('without a block is none', async () => {
    const backend = emptyStorage();
    const { writer, packs } = makeWriter(backend);
    await writer.finish();
    await writer.finish();
    expect(packs).toEqual([]);
    expect(backend.names()).toEqual([]);
  });

  test('that is given up leaves nothing, and does not hinder the next one', async () => {
    const backend = emptyStorage();
    const { writer, packs } = makeWriter(backend);
    await writer.abort();
    await writer.writeBlock(makeBlock(100));
    expect(backend.names().length).toBe(1);
    await writer.abort();
    expect(backend.names()).toEqual([]);
    await writer.writeBlock(makeBlock(50));
    await writer.finish();
    expect(packs.map(({ blocks }) => blocks.length)).toEqual([1]);
    expect((await readPackContents(plainPlace(backend), packs[0]!.id)).blocks.length).toBe(1);
  });
});

describe('a storage that fails', () => {
  test.each(['create', 'append', 'sync', 'rename'] as const)(
    'at %s: the pack is not announced and abort cleans up',
    async (at) => {
      const backend = emptyStorage();
      const faulty = new FaultyBackend(backend, { failAt: 1, errno: 'ENOSPC', only: (operation) => operation === at });
      const { writer, packs } = makeWriter(faulty);
      const work = async (): Promise<void> => {
        await writer.writeBlock(makeBlock(100));
        await writer.finish();
      };
      await expect(work()).rejects.toBeInstanceOf(BackendError);
      faulty.assertFired();
      await writer.abort();
      expect(packs).toEqual([]);
      expect(backend.names()).toEqual([]);
    },
  );

  test('a sync that failed is not tried again on the same file', async () => {
    const faulty = new FaultyBackend(emptyStorage(), { failAt: 1, only: (operation) => operation === 'sync' });
    const { writer } = makeWriter(faulty);
    await writer.writeBlock(makeBlock(100));
    await expect(writer.finish()).rejects.toBeInstanceOf(BackendError);
    await writer.abort();
    expect(faulty.operations.length).toBe(1);
  });
});

describe('several packs at once', () => {
  interface Gate {
    readonly promise: Promise<void>;
    readonly resolve: () => void;
    readonly reject: (error: Error) => void;
  }

  /** A sink whose publications end when the test says so. */
  function gatedSink(packsAtOnce: number): { readonly sink: PackSink; readonly gates: Gate[] } {
    const gates: Gate[] = [];
    const create = async (): Promise<StagedFile> => ({
      append: async () => undefined,
      flush: async () => undefined,
      publish: async () => {
        const gate = makeGate();
        gates.push(gate);
        await gate.promise;
      },
      discard: async () => undefined,
    });
    return { sink: { create, packsAtOnce }, gates };
  }

  function makeGate(): Gate {
    let settle: Omit<Gate, 'promise'> | undefined;
    const promise = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    return { promise, ...settle! };
  }

  function makeGated(packsAtOnce: number): {
    readonly writer: PackWriter;
    readonly packs: PackContents[];
    readonly gates: Gate[];
  } {
    const { sink, gates } = gatedSink(packsAtOnce);
    const packs: PackContents[] = [];
    const onPack = (pack: PackContents): void => void packs.push(pack);
    const given = { sink, kind: 'data', seals: PLAIN, packHash: 'blake3', packBytes: 1000, onPack } as const;
    return { writer: new PackWriter(given), packs, gates };
  }

  const turns = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('are published while the next one is written, and reported when that has succeeded', async () => {
    const { writer, packs, gates } = makeGated(3);
    await writer.writeBlock(makeBlock(2000));
    await writer.writeBlock(makeBlock(2000));
    let isThirdWritten = false;
    const third = writer.writeBlock(makeBlock(2000)).then(() => {
      isThirdWritten = true;
    });
    await turns();
    expect([gates.length, packs.length, isThirdWritten]).toEqual([3, 0, false]);
    gates[1]!.resolve();
    await third;
    expect(packs.length).toBe(1);
    let isFinished = false;
    const finished = writer.finish().then(() => {
      isFinished = true;
    });
    gates[0]!.resolve();
    await turns();
    expect([packs.length, isFinished]).toEqual([2, false]);
    gates[2]!.resolve();
    await finished;
    expect(packs.length).toBe(3);
  });

  test('fail what comes next if one of them fails, and those that succeed are still reported', async () => {
    const { writer, packs, gates } = makeGated(4);
    for (let count = 0; count < 3; count += 1) await writer.writeBlock(makeBlock(2000));
    gates[0]!.reject(new Error('made by the test'));
    await turns();
    await expect(writer.writeBlock(makeBlock(2000))).rejects.toThrow('made by the test');
    const aborted = writer.abort();
    gates[1]!.resolve();
    gates[2]!.resolve();
    await aborted;
    expect(packs.length).toBe(2);
    await expect(writer.finish()).rejects.toThrow('made by the test');
  });

  test('make the end fail if the last one fails', async () => {
    const { writer, packs, gates } = makeGated(4);
    await writer.writeBlock(makeBlock(2000));
    const finished = writer.finish();
    gates[0]!.reject(new Error('made by the test'));
    await expect(finished).rejects.toThrow('made by the test');
    expect(packs).toEqual([]);
  });
});
