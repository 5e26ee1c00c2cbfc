import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';

import type { Backend } from '../../src/core/backend/backend.ts';
import { exitCodeOfRestore } from '../../src/verbs/restore/report.ts';
import { withRepository } from '../../src/core/session/session.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import type { ChunkSource, OfferedChunk } from '../../src/core/session/chunk-source.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import type { RestoreOptions, RestoreResult } from '../../src/verbs/restore/restore.ts';
import type { Repository } from '../../src/core/repository/repository.ts';
import type { OpenedState } from '../../src/core/repository/opened-state.ts';
import { walkSnapshot } from '../../src/core/repository/tree-walk.ts';
import { pathOf } from '../../src/core/util/path-node.ts';
import { describeTree } from './compare-trees.ts';
import type { Stage, TreeDescription } from './crash-stage.ts';
import { flip, filesIn, missing, presentIds, setDamageStage, spoil } from './damage.ts';
import type { Damage } from './damage.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import { simulatedProcess } from './simulated-process.ts';
import type { TestRepository } from './test-repository.ts';
import { withTemporaryDirectory } from './temp-directory.ts';

type Kind = Parameters<ChunkSource['fetch']>[1];

/** A repository that serves as another domain. */
export class TestDomain implements ChunkSource {
  readonly name: string;
  /** The hex ids of all requests. */
  readonly asked: string[] = [];
  /** The most requests that were under way at once. */
  peak = 0;
  readonly #opened: OpenedState;
  readonly #has: (hexId: string, kind: Kind) => boolean;
  #running = 0;

  constructor(opened: OpenedState, has: (hexId: string, kind: Kind) => boolean, name = 'north') {
    this.#opened = opened;
    this.#has = has;
    this.name = name;
  }

  async fetch(id: Uint8Array, kind: Kind, except?: ReadonlySet<string>): Promise<OfferedChunk | undefined> {
    const hexId = Buffer.from(id).toString('hex');
    this.asked.push(hexId);
    this.#running += 1;
    this.peak = Math.max(this.peak, this.#running);
    await new Promise((resolve) => void setImmediate(resolve));
    this.#running -= 1;
    if (except?.has(this.name) === true) return undefined;
    if (!this.#opened.reader.has(id, 0) || !this.#has(hexId, kind)) return undefined;
    return { bytes: Uint8Array.from(await this.#opened.reader.read(id, 0)), from: this.name };
  }
}

/** Opens a repository as another domain, which has only the chunks that `has` accepts. */
export async function withDomain<T>(
  backend: Backend,
  work: (domain: TestDomain, opened: OpenedState, repository: Repository) => Promise<T>,
  has: (hexId: string, kind: Kind) => boolean = () => true,
): Promise<T> {
  return await withRepository(simulatedProcess(backend), 'read', async (repository) => {
    const opened = await repository.openState();
    return await work(new TestDomain(opened, has), opened, repository);
  });
}

/** The paths of the files of a snapshot that need one of these chunks, below `work`. */
export async function filesWith(
  { reader, state }: OpenedState,
  snapshotId: string,
  isLost: (hexId: string) => boolean,
): Promise<string[]> {
  const walk = walkSnapshot(reader, state.snapshots.get(snapshotId)!.tree);
  const paths: string[] = [];
  for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
    if (step.kind !== 'entry') continue;
    const ids = Buffer.from(step.entry.chunkIds);
    for (let offset = 0; offset < ids.length; offset += 20) {
      if (!isLost(ids.toString('hex', offset, offset + 20))) continue;
      paths.push(pathOf(step).replace(/^\/?work\//, ''));
      break;
    }
  }
  return paths.sort();
}

export interface DomainRestore {
  readonly result: RestoreResult;
  readonly exitCode: number;
  readonly notices: readonly Notice[];
  /** What is at the target. */
  readonly tree: TreeDescription;
}

export async function restoreWith(
  backend: Backend,
  options: Omit<RestoreOptions, 'target'>,
  overrides: Partial<OperationContext> = {},
  directory = 'work',
): Promise<DomainRestore> {
  return await withTemporaryDirectory(async (target) => {
    const notices: Notice[] = [];
    const onNotice = (notice: Notice): void => void notices.push(notice);
    const result = await restore({ ...simulatedProcess(backend), onNotice, ...overrides }, { ...options, target });
    const work = join(target, directory);
    const tree = existsSync(work) ? describeTree(work) : new Map<string, string>();
    return { result, exitCode: exitCodeOfRestore(result), notices, tree };
  });
}

/** Restores the newest snapshot of a repository of one source directory. */
export async function restoreFromDomains(
  { context, source }: Pick<TestRepository, 'context' | 'source'>,
  fromDomains: ChunkSource,
): Promise<DomainRestore> {
  return await restoreWith(context.backend, { selector: 'latest', fromDomains }, { ...context }, basename(source));
}

/** Wrong bytes in every block of a file. */
export function riddled(disk: MemoryBackend, file: string): Damage {
  const bytes = disk.peek(file)!.map((byte, index) => (index % 50 === 49 ? byte ^ 1 : byte));
  return { name: `${file}: wrong everywhere`, file, apply: async (other) => other.poke(file, Buffer.from(bytes)) };
}

/** Damage of several packs and segments in one of many ways. */
export function randomDamages(disk: MemoryBackend, seed: number): Damage[] {
  const prng = createPrng(seed);
  const files = [...filesIn(disk, 'packs'), ...filesIn(disk, 'index')];
  const count = 1 + prng.int(files.length);
  const chosen = new Set(Array.from({ length: count }, () => prng.pick(files)));
  return [...chosen].map((file) => randomDamage(disk, file, prng.next()));
}

function randomDamage(disk: MemoryBackend, file: string, seed: number): Damage {
  const prng = createPrng(seed);
  const bytes = disk.peek(file)!;
  const kind = prng.int(4);
  if (kind === 0) return missing(file);
  if (kind === 1) return flip(disk, file, prng.int(bytes.length), 1 << prng.int(8));
  const cut = bytes.subarray(0, prng.int(bytes.length));
  const changed = kind === 2 ? cut : Buffer.concat([cut, prng.bytes(bytes.length - cut.length)]);
  const name = `${file}: ${kind === 2 ? 'cut at' : 'random bytes from'} ${String(cut.length)}`;
  return { name, file, apply: async (other) => other.poke(file, changed) };
}

let damageStage: Stage | undefined;

/** The stage of `setDamageStage`, made once for all tests. Its source directory is gone. */
export async function makeDamageStage(): Promise<Stage> {
  damageStage ??= await withTemporaryDirectory(setDamageStage);
  return { ...damageStage, backend: damageStage.backend.copy() };
}

export async function spoilAtRandom(stage: Stage, seed: number): Promise<MemoryBackend> {
  return await spoil(stage, ...randomDamages(stage.backend, seed));
}

export function newestOf(stage: Stage): string {
  return presentIds(stage).at(-1)!;
}
