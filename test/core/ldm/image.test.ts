import { describe, expect, it } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { releaseSnapshot } from '../../../src/core/ldm/fold-release.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import { readImage } from '../../../src/core/ldm/image-reader.ts';
import { writeImage } from '../../../src/core/ldm/image-writer.ts';
import { refuseBigEndian } from '../../../src/core/ldm/image-words.ts';
import {
  encodeCheckpointHeader,
  decodeCheckpointHeader,
  CHECKPOINT_HEADER_BYTES,
  CHECKPOINT_HEADER_CHECKSUM_OFFSET,
} from '../../../src/core/format/checkpoint.ts';
import { checksumOf } from '../../../src/core/format/byte-reader.ts';
import { runImageBench } from '../../bench/image.bench.ts';
import type { Chunk } from './fold-support.ts';
import {
  closureOf,
  describeState,
  emptyState,
  fileId,
  findDifference,
  leaf,
  pack,
  snapshotOf,
  tree,
  treeReader,
} from './fold-support.ts';
import { imageOf, sourceOf } from './image-support.ts';

const ALL = (): boolean => true;

/** Live and dead chunks, several packs, one of them absent, a gap in the pack table. */
async function variedState(leafCount = 40): Promise<FilterState> {
  const state = emptyState(8);
  const leaves = Array.from({ length: leafCount }, (_, index) => leaf(index));
  const roots = [tree(tree(...leaves.slice(0, 20)), leaf(3)), tree(tree(...leaves.slice(10)), tree(leaf(1)))];
  addSegment(state, fileId(1), [pack(fileId(30), []), pack(fileId(31), leaves.slice(0, 25))], ALL);
  const chunks = closureOf(...roots);
  const rest = chunks.filter(({ hex }) => !leaves.slice(0, 25).some((chunk) => chunk.hex === hex));
  addSegment(state, fileId(2), [pack(fileId(29), rest), pack(fileId(28), [leaf('lost')])], (id) => id !== fileId(28));
  const read = treeReader(state, chunks);
  for (const [index, root] of roots.entries()) await retainSnapshot(state, fileId(10 + index), snapshotOf(root), read);
  await releaseSnapshot(state, fileId(10), read);
  state.packs.remove(state.packs.find(fileId(30))!);
  return state;
}

/** Chunks that have all their positions in common. */
function collidingLeaves(count: number): Chunk[] {
  return Array.from({ length: count }, (_, index) => {
    const id = Buffer.alloc(20, 0x5a);
    id.writeUInt32LE(index, 16);
    return { ...leaf(index), id, hex: id.toString('hex') };
  });
}

describe('image', () => {
  it.each([0, 1, 40, 2000])('gives the state back with its statistics: about %i chunks', async (leafCount) => {
    const state = leafCount === 0 ? emptyState() : await variedState(leafCount);
    const image = await imageOf(state);
    const loaded = await readImage(sourceOf(image));
    expect(findDifference(loaded, state)).toBeUndefined();
    expect(loaded.filter.plan).toEqual(state.filter.plan);
    const { memoryBytes: _before, ...statistics } = state.filter.statistics();
    expect(loaded.filter.statistics()).toMatchObject(statistics);
    expect(loaded.isComplete).toBe(true);
    expect(await imageOf(loaded)).toEqual(image);
  });

  it('reports the size that was appended', async () => {
    const state = await variedState();
    const { sizeBytes } = await writeImage(state, () => Promise.resolve());
    expect(sizeBytes).toBe((await imageOf(state)).length);
  });

  it('holds the live entries in the order of their link positions, then the dead ones', async () => {
    const { filter } = await readImage(sourceOf(await imageOf(await variedState())));
    const order: number[] = [];
    filter.forEachLiveInChainOrder((entry) => order.push(entry));
    expect(order).toEqual(Array.from({ length: filter.liveCount }, (_, index) => index));
    const dead: number[] = [];
    filter.forEachEntry((entry, isLive) => {
      if (!isLive) dead.push(entry);
    });
    expect(dead).toEqual(Array.from({ length: filter.deadCount }, (_, index) => filter.liveCount + index));
  });

  it('loads a state that goes on like the one that was saved', async () => {
    const state = await variedState();
    const loaded = await readImage(sourceOf(await imageOf(state)));
    const extra = tree(...Array.from({ length: 300 }, (_, index) => leaf(`more ${index}`)), leaf(2), leaf(12));
    for (const each of [state, loaded]) {
      addSegment(each, fileId(3), [pack(fileId(27), [...closureOf(extra), leaf(12)])], ALL);
      await retainSnapshot(each, fileId(12), snapshotOf(extra), treeReader(each, [extra]));
    }
    expect(describeState(loaded)).toEqual(describeState(state));
    const leaves = Array.from({ length: 40 }, (_, index) => leaf(index));
    const former = tree(tree(...leaves.slice(10)), tree(leaf(1)));
    for (const each of [state, loaded]) await releaseSnapshot(each, fileId(11), treeReader(each, closureOf(former)));
    expect(describeState(loaded)).toEqual(describeState(state));
    expect(loaded.filter.liveCount).toBe(closureOf(extra).length);
  });

  it('heals counters that lost count', async () => {
    const state = emptyState();
    const leaves = collidingLeaves(20);
    const [all, few] = [tree(...leaves), tree(...leaves.slice(0, 3))];
    addSegment(state, fileId(1), [pack(fileId(30), [...leaves, all, few])], ALL);
    const read = treeReader(state, [all, few]);
    for (const [index, root] of [all, few].entries()) {
      await retainSnapshot(state, fileId(10 + index), snapshotOf(root), read);
    }
    await releaseSnapshot(state, fileId(10), read);
    expect(state.filter.saturatedCount).toBeGreaterThan(0);
    const loaded = await readImage(sourceOf(await imageOf(state)));
    expect([loaded.filter.saturatedCount, state.filter.saturatedCount]).toEqual([0, 0]);
    await releaseSnapshot(loaded, fileId(11), treeReader(loaded, [few]));
    expect([loaded.filter.liveCount, loaded.filter.mayBeLive(leaves[0]!.id, 0)]).toEqual([0, false]);
  });

  it('is not written of a state that is not complete', async () => {
    const state = emptyState();
    const root = tree(leaf(1));
    addSegment(state, fileId(1), [pack(fileId(2), [root])], ALL);
    await retainSnapshot(state, fileId(3), snapshotOf(root), treeReader(state, [root]));
    await expect(imageOf(state)).rejects.toThrow(/incomplete/);
  });
});

describe('a damaged image', () => {
  it('is refused, whichever byte is wrong', async () => {
    const image = await imageOf(await variedState());
    for (let offset = 0; offset < image.length; offset += 1) {
      image[offset]! ^= 1 << (offset % 8);
      const outcome = await readImage(sourceOf(image)).catch((error: unknown) => error);
      if (!(outcome instanceof CorruptDataError)) expect.fail(`byte ${offset} of ${image.length}: ${String(outcome)}`);
      image[offset]! ^= 1 << (offset % 8);
    }
    await readImage(sourceOf(image));
  });

  it('is refused at any length but its own', async () => {
    const image = await imageOf(await variedState());
    const longer = Buffer.concat([image, Buffer.alloc(64)]);
    for (let length = 0; length <= longer.length; length += 1) {
      if (length === image.length) continue;
      const outcome = await readImage(sourceOf(longer.subarray(0, length))).catch((error: unknown) => error);
      if (!(outcome instanceof CorruptDataError)) expect.fail(`${length} of ${image.length} bytes: ${String(outcome)}`);
    }
  });

  it('does not make the reader allocate more than the file could hold', async () => {
    const image = await imageOf(await variedState());
    const header = decodeCheckpointHeader(image.subarray(0, CHECKPOINT_HEADER_BYTES));
    const counts = [
      'segmentCount',
      'snapshotsBytes',
      'packCount',
      'counterBytes',
      'liveCount',
      'liveHeadCount',
    ] as const;
    for (const count of counts) {
      encodeCheckpointHeader({ ...header, [count]: 0xf000_0000 }).copy(image);
      await expect(readImage(sourceOf(image))).rejects.toThrow(CorruptDataError);
    }
  });

  it('is told from one of another version', async () => {
    const image = await imageOf(await variedState());
    image.writeUInt32LE(2, 8);
    const end = CHECKPOINT_HEADER_CHECKSUM_OFFSET;
    image.writeUInt32LE(checksumOf(image.subarray(0, end)), end);
    await expect(readImage(sourceOf(image))).rejects.toThrow(UnsupportedFormatError);
  });
});

it('is refused on a machine that stores its words the other way round', () => {
  expect(() => refuseBigEndian('BE')).toThrow(UnsupportedFormatError);
  expect(() => refuseBigEndian('LE')).not.toThrow();
});

it('has a benchmark that runs', async () => {
  const result = await runImageBench(20_000);
  expect(result.sizeBytes).toBeGreaterThan(20_000 * 48);
  expect([result.saveSeconds, result.loadSeconds].every((seconds) => seconds > 0)).toBe(true);
});
