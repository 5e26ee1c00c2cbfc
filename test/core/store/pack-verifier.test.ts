import { beforeEach, describe, expect, test } from 'vitest';

import { PassingBackend } from '../../../src/core/backend/passing-backend.ts';
import { packName } from '../../../src/core/format/layout.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { PackVerifier } from '../../../src/core/store/pack-verifier.ts';
import { PackWriter } from '../../../src/core/store/pack-writer.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { codec, emptyStorage, hasher, rawBlock, sinkOf } from './store-support.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

let backend: MemoryBackend;
let pack: PackContents;

beforeEach(async () => {
  backend = emptyStorage();
  const onPack = (published: PackContents): void => {
    pack = published;
  };
  const writer = new PackWriter({
    sink: sinkOf(backend),
    kind: 'data',
    seals: PLAIN,
    packHash: 'blake3',
    packBytes: 1e9,
    onPack,
  });
  for (const sizeBytes of [100, 300]) {
    const bytes = Buffer.alloc(sizeBytes, 'content');
    await writer.writeBlock(rawBlock('data', bytes, hasher.dataId(bytes)));
  }
  await writer.finish();
});

function verifierOf(counting: FaultyBackend, listed: ReadonlyMap<string, number>): PackVerifier {
  return new PackVerifier({ backend: counting, codec, packHash: 'blake3', listed });
}

/** Damages the first two answers, each in another place. */
class TwiceWrongBackend extends PassingBackend {
  #reads = 0;

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await super.readRange(name, offset, target);
    if (this.#reads < 2) target[this.#reads]! ^= 1;
    this.#reads += 1;
  }
}

describe.each(['verifyStructure', 'verifyData'] as const)('%s', (verify) => {
  test('of a pack that is listed with its size takes one call', async () => {
    const counting = new FaultyBackend(backend);
    const verifier = verifierOf(counting, new Map([[pack.id, pack.sizeBytes]]));
    expect(await verifier[verify](pack)).toMatchObject({ problems: [], damagedChunks: [] });
    expect(counting.operations.map(({ operation }) => operation)).toEqual(['readRange']);
  });

  test('does not call a sound pack damaged because two answers are wrong in different ways', async () => {
    const verifier = new PackVerifier({ backend: new TwiceWrongBackend(backend), codec, packHash: 'blake3' });
    expect(await verifier[verify](pack)).toMatchObject({ problems: [], damagedChunks: [] });
  });

  test('finds a pack that is gone, cut or extended, whether the listing knows it or not', async () => {
    const name = packName(pack.id);
    const whole = backend.peek(name)!;
    const changes: readonly (() => unknown)[] = [
      () => backend.poke(name, whole.subarray(0, -1)),
      () => backend.poke(name, whole.subarray(0, 40)),
      () => backend.poke(name, Buffer.concat([whole, Buffer.alloc(1)])),
      async () => backend.remove(name),
    ];
    for (const [index, change] of changes.entries()) {
      backend.poke(name, whole);
      await change();
      const sizeBytes = await backend.sizeOf(name);
      const asIs = new Map(sizeBytes === undefined ? [] : [[pack.id, sizeBytes]]);
      const expected = await verifierOf(new FaultyBackend(backend), new Map())[verify](pack);
      expect(['missing', 'size']).toContain(expected.problems[0]!.kind);
      expect(await verifierOf(new FaultyBackend(backend), asIs)[verify](pack), `${index}`).toEqual(expected);
      // What is appended to a pack after the listing is not noticed, and is no loss.
      if (index === 2) continue;
      const outdated = new Map([[pack.id, pack.sizeBytes]]);
      expect(await verifierOf(new FaultyBackend(backend), outdated)[verify](pack), `${index}`).toEqual(expected);
    }
  });
});
