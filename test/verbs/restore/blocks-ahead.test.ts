import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { BackendError } from '../../../src/core/errors.ts';
import type { FileSystemBackend } from '../../../src/core/backend/file-system-backend.ts';
import { PackReads } from '../../support/pack-reads.ts';
import type { PackRead } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const KIB = 1024;
const SIZES = { blockRawBytes: 64 * KIB, packBytes: 1024 * KIB, segmentBytes: 64 * 1024 * KIB };

/** A place on another machine. Reads of contents are answered only when nothing more is asked for meanwhile. */
class PatientBackend extends PackReads {
  override readonly readsAtOnce: number = 16;
  openCount = 0;
  openMax = 0;
  askCount = 0;
  /** The number of the read that fails at once. Those that have begun by then are answered long after it. */
  failing: number | undefined;

  constructor(inner: FileSystemBackend, before: (read: PackRead) => void = () => undefined) {
    super(inner, before);
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    if (!name.startsWith('packs/')) return await super.readRange(name, offset, target);
    this.openCount += 1;
    this.askCount += 1;
    this.openMax = Math.max(this.openMax, this.openCount);
    if (this.askCount === this.failing) {
      this.openCount -= 1;
      throw new BackendError('the line is dead', { kind: 'other' });
    }
    for (let asked = -1, calm = 0; calm < 20; calm = asked === this.askCount ? calm + 1 : 0) {
      asked = this.askCount;
      await new Promise(setImmediate);
    }
    const turns = this.failing !== undefined && this.askCount >= this.failing ? 300 : 0;
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    await super.readRange(name, offset, target);
    this.openCount -= 1;
  }
}

async function makeRepository(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: 64 * KIB } });
  Object.assign(repository.context, { storeSizes: SIZES });
  return repository;
}

it('asks another machine for as many blocks as it takes at once, before the first one is written', async () => {
  const repository = await makeRepository();
  writeFileSync(join(repository.source, 'file'), createPrng(33).bytes(40 * 64 * KIB));
  await repository.backup();
  const backend = new PatientBackend(repository.context.backend);
  const { problems } = await repository.restore({}, { backend });
  expect(problems).toEqual([]);
  expect(backend.openMax).toBe(16);
  await repository.expectRestored();
});

it('asks for the first blocks while trees are still read, and for each block once', async () => {
  const repository = await makeRepository();
  const prng = createPrng(34);
  for (let index = 0; index < 12; index += 1) {
    const directory = join(repository.source, `d${index}`);
    mkdirSync(directory);
    // Names that do not compress, so that the trees are in several blocks.
    for (let file = 0; file < 120; file += 1) writeFileSync(join(directory, prng.bytes(60).toString('hex')), '');
    writeFileSync(join(directory, 'file'), prng.bytes(2 * 64 * KIB));
  }
  await repository.backup();
  const reads: PackRead[] = [];
  const backend = new PatientBackend(repository.context.backend, (read) => reads.push(read));
  const { problems } = await repository.restore({}, { backend });
  expect(problems).toEqual([]);
  const kinds = reads.map(({ kind }) => kind);
  expect(kinds.indexOf('data')).toBeLessThan(kinds.lastIndexOf('tree'));
  const contents = reads.filter(({ kind }) => kind === 'data').map(({ at }) => at);
  expect(new Set(contents).size).toBe(contents.length);
  await repository.expectRestored();
});

it('leaves no request running when the restore ends early, and begins none', async () => {
  const repository = await makeRepository();
  writeFileSync(join(repository.source, 'file'), createPrng(35).bytes(60 * 64 * KIB));
  await repository.backup();
  const backend = new PatientBackend(repository.context.backend);
  backend.failing = 10;
  await expect(repository.restore({}, { backend })).rejects.toThrow('the line is dead');
  expect(backend.openMax).toBeGreaterThan(4);
  expect(backend.openCount).toBe(0);
  const { askCount } = backend;
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(backend.askCount).toBe(askCount);
});
