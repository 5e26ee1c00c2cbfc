import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FilterState } from '../../src/core/ldm/filter-state.ts';
import { planFilter } from '../../src/core/ldm/formulas.ts';
import { readImage } from '../../src/core/ldm/image-reader.ts';
import { writeImage } from '../../src/core/ldm/image-writer.ts';
import { LdmFilter } from '../../src/core/ldm/ldm-filter.ts';
import { createPrng } from '../support/prng.ts';

export interface ImageBenchResult {
  readonly elements: number;
  readonly buildSeconds: number;
  readonly saveSeconds: number;
  readonly loadSeconds: number;
  /** Processor time of saving and loading together, which other programs disturb less. */
  readonly cpuSeconds: number;
  readonly sizeBytes: number;
  readonly bytesPerChunk: number;
  /** The loaded filter in memory. */
  readonly memoryBytesPerChunk: number;
}

const BATCH_IDS = 4096;
const PACK_COUNT = 1000;

/** Builds a filter of `elements` chunks, one in ten of them dead, saves its image to a file and loads it again. */
export async function runImageBench(elements: number, directory: string = tmpdir()): Promise<ImageBenchResult> {
  const scratch = mkdtempSync(join(directory, 'ldm-image-bench-'));
  const file = openSync(join(scratch, 'image'), 'w+');
  try {
    const [built, buildSeconds] = await time(() => Promise.resolve(buildState(elements)));
    const cpuBefore = process.cpuUsage();
    const [{ sizeBytes }, saveSeconds] = await time(() => save(built, file));
    const liveCount = built.filter.liveCount;
    const [loaded, loadSeconds] = await time(() => load(file, sizeBytes));
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpuSeconds = (user + system) / 1e6;
    assert(loaded.filter.liveCount === liveCount);
    return {
      elements,
      buildSeconds,
      saveSeconds,
      loadSeconds,
      cpuSeconds,
      sizeBytes,
      bytesPerChunk: sizeBytes / elements,
      memoryBytesPerChunk: loaded.filter.memoryBytes / elements,
    };
  } finally {
    closeSync(file);
    rmSync(scratch, { recursive: true });
  }
}

function buildState(elements: number): FilterState {
  const state = new FilterState(new LdmFilter(planFilter({ capacity: elements })));
  for (let number = 0; number < PACK_COUNT; number += 1) {
    const id = number.toString(16).padStart(64, '0');
    state.packs.addInfo({
      id,
      kind: 'data',
      sizeBytes: 1,
      chunkCount: elements / PACK_COUNT,
      storedBytes: 1,
      isBorrowed: false,
    });
  }
  const prng = createPrng(1);
  const location = { packIndex: 0, blockOffset: 0, offsetInBlock: 0, lengthBytes: 1 << 20, storedBytes: 1 << 19 };
  for (let done = 0; done < elements; done += BATCH_IDS) {
    const ids = prng.bytes(BATCH_IDS * 20);
    const count = Math.min(BATCH_IDS, elements - done);
    for (let index = 0; index < count; index += 1) {
      location.packIndex = index % PACK_COUNT;
      const entry = state.filter.insert(ids, index * 20, location);
      if (index % 10 > 0) state.filter.retain(entry);
    }
  }
  return state;
}

function save(state: FilterState, file: number): Promise<{ sizeBytes: number }> {
  let offset = 0;
  return writeImage(state, (bytes) => {
    offset += writeSync(file, bytes, 0, bytes.length, offset);
    return Promise.resolve();
  });
}

function load(file: number, sizeBytes: number): Promise<FilterState> {
  return readImage({
    sizeBytes,
    readRange(offset, target) {
      assert(readSync(file, target, 0, target.length, offset) === target.length);
      return Promise.resolve();
    },
  });
}

async function time<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, (performance.now() - start) / 1000];
}
