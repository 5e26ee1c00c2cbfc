import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';
import { threadsOfTests } from '../../support/test-threads.ts';
import { sha256 } from './stranger-bytes.ts';
import { derivedKey, openStream, sealStream } from './stranger-crypto.ts';
import { TREE, sizeOfBlock } from './stranger-packs.ts';
import type { StrangerPack } from './stranger-packs.ts';
import { filesOfSnapshot, openManifest, openStranger, readStoredFiles } from './stranger-repository.ts';
import type { StrangerFile, StrangerRepository } from './stranger-repository.ts';
import { parseTree } from './stranger-trees.ts';
import type { StrangerLocation } from './stranger-trees.ts';
import { inSoak } from '../../support/soak.ts';

const PASSWORD = 'Tr0ub4dor & 3 \u{1f511}';
const MIB = 1024 * 1024;
const TYPES = ['', 'file', 'directory', 'symlink'];

/** A tree with every kind of content that chunks and blocks distinguish. */
function makeSource(directory: string, seed: number): string {
  const source = join(directory, 'source');
  const prng = createPrng(seed);
  makeRandomTree(source, { seed, fileCount: inSoak(40, 25), fileSizeBytesMax: inSoak(MIB, MIB / 4) });
  writeFileSync(join(source, 'large-random'), prng.bytes(9 * MIB + 1));
  writeFileSync(join(source, 'large-text'), 'all work and no play makes '.repeat(inSoak(300_000, 100_000)));
  writeFileSync(join(source, 'empty'), '');
  mkdirSync(join(source, 'many'));
  for (let i = 0; i < inSoak(1000, 300); i++) writeFileSync(join(source, 'many', `${i}`), prng.bytes(i));
  return source;
}

async function makeEncrypted(directory: string, options: InitOptions = {}): Promise<OperationContext> {
  const backend = new LocalBackend(join(directory, 'repository'));
  const context = { backend, password: testPassword(PASSWORD), threads: threadsOfTests() };
  await initRepository(context, options);
  return context;
}

async function open(directory: string): Promise<StrangerRepository> {
  return await openStranger(readStoredFiles(join(directory, 'repository')), PASSWORD);
}

/** What the stranger reads of each path, comparable with `described`. */
function seen(files: ReadonlyMap<string, StrangerFile>, below: string): Map<string, unknown> {
  const inside = [...files].filter(([path]) => path.startsWith(`${below}/`));
  return new Map(
    inside.map(([path, { type, mode, mtimeNs, content, target = '' }]) => {
      const digest = content === undefined ? '' : createHash('sha256').update(content).digest('hex');
      return [path.slice(below.length + 1), [TYPES[type], mode.toString(8), String(mtimeNs), digest, target]];
    }),
  );
}

/** What is below a directory. */
function described(directory: string): Map<string, unknown> {
  const entries = [...describeTree(directory)].filter(([path]) => path !== '');
  return new Map(
    entries.map(([path, text]) => {
      const entry = JSON.parse(text) as Record<'type' | 'mode' | 'mtimeNs' | 'content' | 'linkTarget', string>;
      return [path, [entry.type, entry.mode, entry.mtimeNs, entry.content, entry.linkTarget]];
    }),
  );
}

test('reads what the program wrote, byte for byte', async () => {
  const directory = memoryDirectory();
  const context = await makeEncrypted(directory);
  const source = makeSource(directory, 1);
  const trees = new Map<string, unknown>();
  const save = async (): Promise<string> => {
    const { snapshotId } = await backup(context, { sources: [source], cwd: '/' });
    trees.set(snapshotId!, described(source));
    return snapshotId!;
  };
  const first = await save();
  truncateSync(join(source, 'large-random'), 5 * MIB);
  writeFileSync(join(source, 'many', '1'), 'changed');
  await save();
  rmSync(join(source, 'many', '2'));
  await save();
  expectSnapshots(await open(directory), trees);

  await deleteSnapshots(context, { selectors: [first] });
  await compact(context, { maxUnusedPercent: 0 });
  trees.delete(first);
  const compacted = await open(directory);
  expectSnapshots(compacted, trees);
  expectCheckpoint(compacted);
});

function expectSnapshots(opened: StrangerRepository, trees: ReadonlyMap<string, unknown>): void {
  expect([...opened.snapshots.keys()].sort()).toEqual([...trees.keys()].sort());
  for (const [id, tree] of trees) expect(seen(filesOfSnapshot(opened, id), 'source')).toEqual(tree);
}

test('opens everything whose key or place the program gets from the document', async () => {
  const directory = memoryDirectory();
  const context = await makeEncrypted(directory, { packHash: 'sha256', chunkHash: 'sha256', capacity: 300_000 });
  const source = join(directory, 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'file'), 'content');
  const { snapshotId } = await backup(context, { sources: [source], cwd: '/' });
  const { keys, config, checkpoints } = await open(directory);
  expect(config.id_key).toBe(derivedKey(keys, 'data ids', 1).toString('hex'));
  expect(config.chunker_key).toBe(derivedKey(keys, 'chunker', 1).toString('hex'));
  // And the other way round: the program uses what the stranger has encrypted.
  const notices: Notice[] = [];
  for (const name of checkpoints.keys()) {
    // More than one piece.
    const path = join(directory, 'repository', name);
    expect(lstatSync(path).size).toBeGreaterThan(MIB);
    writeFileSync(path, sealStream(keys, openStream(keys, readFileSync(path))));
  }
  expect((await check({ ...context, onNotice: (notice) => notices.push(notice) })).findings).toEqual([]);
  expect(notices).toEqual([]);
  await deleteSnapshots(context, { selectors: [snapshotId!], reclaim: false });
  const stored = readStoredFiles(join(directory, 'repository'));
  const deleted = openManifest(keys, stored.get(`deleted/${snapshotId}`)!);
  expect(deleted).toEqual(openManifest(keys, stored.get(`manifests.bak/${snapshotId}`)!));
  expect(deleted.base).toBe(directory);
});

/** The newest checkpoint has the manifests as they are stored, the location of every chunk, and its references. */
function expectCheckpoint({ checkpoints, packs, snapshots, keys, chunks }: StrangerRepository): void {
  const newest = checkpoints.get([...checkpoints.keys()].sort().at(-1)!)!;
  expect(newest.snapshots.map(({ id }) => id).sort()).toEqual([...snapshots.keys()].sort());
  for (const { id, tree, manifest } of newest.snapshots) {
    expect([sha256(manifest), openManifest(keys, manifest).tree]).toEqual([id, tree]);
  }
  const listed = [...packs.values()].map(({ id, sizeBytes, blocks }) => {
    return { id, sizeBytes, storedBytes: blocks.reduce((sum, block) => sum + sizeOfBlock(block), 0) };
  });
  expect(newest.packs.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
    listed.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  const known = newest.chunks.map((chunk) => describeLocation({ ...chunk, pack: newest.packs[chunk.pack]!.id }));
  expect(known.toSorted()).toEqual([...packs.values()].flatMap((pack) => locationsIn(pack)).toSorted());
  const references = referencesIn(
    chunks[TREE]!,
    [...snapshots.values()].map(({ tree }) => tree),
  );
  expect(
    new Map(newest.chunks.filter((chunk) => chunk.references > 0).map((chunk) => [chunk.id, chunk.references])),
  ).toEqual(references);
}

function describeLocation(chunk: Omit<StrangerLocation, 'references' | 'pack'> & { readonly pack: string }): string {
  const { id, pack, blockOffset, offsetInBlock, lengthBytes, storedBytes } = chunk;
  return `${id} ${pack} ${blockOffset} ${offsetInBlock} ${lengthBytes} ${storedBytes}`;
}

/** Where the chunks of a pack are, with their shares of the blocks. */
function locationsIn({ id: pack, blocks }: StrangerPack): string[] {
  return blocks.flatMap((block) => {
    const shareTo = (end: number): number => Math.floor((end / block.rawBytes) * sizeOfBlock(block));
    let offset = 0;
    return block.chunkIds.map((id, index) => {
      const [offsetInBlock, lengthBytes] = [offset, block.chunkLengths[index]!];
      offset += lengthBytes;
      const storedBytes = shareTo(offset) - shareTo(offsetInBlock);
      return describeLocation({ id, pack, blockOffset: block.offset, offsetInBlock, lengthBytes, storedBytes });
    });
  });
}

/** How often each chunk is referred to by snapshots and by the trees that they reach. */
function referencesIn(trees: ReadonlyMap<string, Buffer>, roots: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  const refer = (id: string): boolean => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts.get(id) === 1;
  };
  const pending = roots.filter((root) => refer(root));
  for (let tree = pending.pop(); tree !== undefined; tree = pending.pop()) {
    for (const { treeId, chunkIds = [] } of parseTree(trees.get(tree)!)) {
      for (const id of chunkIds) refer(id);
      if (treeId !== undefined && refer(treeId)) pending.push(treeId);
    }
  }
  return counts;
}

test('imports nothing of the program', () => {
  const folder = import.meta.dirname;
  const files = readdirSync(folder).filter((name) => /^stranger-.*(?<!\.test)\.ts$/.test(name));
  expect(files.length).toBeGreaterThan(4);
  for (const name of files) {
    const imports = readFileSync(join(folder, name), 'utf8').matchAll(/(?:from|import\(|import) '([^']+)'/g);
    for (const [, specifier] of imports) expect(specifier, name).toMatch(/^(node:.*|hash-wasm|\.\/stranger-.*)$/);
  }
});
