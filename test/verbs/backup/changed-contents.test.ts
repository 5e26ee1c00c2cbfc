import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { findData, findHole } from '../../../src/verbs/mount/fuse/file-node.ts';
import type { FileNode } from '../../../src/verbs/mount/fuse/file-node.ts';
import { TarReader } from '../../../src/core/format/tar/tar-reader.ts';
import { bareDirectory } from '../../../src/core/format/tree/tree-entry.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { dump } from '../../../src/verbs/dump/dump.ts';
import { MountedSnapshots } from '../../../src/verbs/mount/mounted-snapshots.ts';
import { SnapshotNode } from '../../../src/verbs/mount/snapshot-node.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { bringBack, makeStage, save } from '../../support/attribute-stage.ts';
import type { AttributeStage } from '../../support/attribute-stage.ts';
import { forgeSnapshot } from '../../support/forge-snapshot.ts';
import { bs } from '../../support/tar-archive.ts';
import { unlockOfTests } from '../../support/test-password.ts';

const MIB = 1024 * 1024;

/** Backs up files, and records of each what a backup would have that ran while they changed. */
async function stageWith(
  files: Readonly<Record<string, Buffer>>,
  recorded: (file: TreeEntry) => Partial<TreeEntry>,
): Promise<{ readonly stage: AttributeStage; readonly id: string }> {
  const stage = await makeStage();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(stage.source, name), content);
  const id = await forgeSnapshot(stage.backend, await save(stage), recorded);
  return { stage, id };
}

/** The contents of a tar archive by name, those of links as of what they lead to. */
async function dumped({ backend }: AttributeStage): Promise<Record<string, Buffer>> {
  const pieces: Buffer[] = [];
  await dump(
    { backend },
    { selector: 'latest:tree', format: 'tar', write: (bytes) => void pieces.push(Buffer.from(bytes)) },
  );
  const reader = new TarReader(pieces);
  const found: Record<string, Buffer> = {};
  for (let member = await reader.next(); member !== undefined; member = await reader.next()) {
    const content = Buffer.alloc(member.sizeBytes);
    let end = 0;
    for (let count = -1; count !== 0; end += count) count = await reader.content.read(content.subarray(end));
    found[member.path] = member.type === 'hardlink' ? found[member.linkTarget]! : content;
  }
  return found;
}

/** The directory `tree` of the only snapshot as the kernel sees it in a mount. */
async function mounted({ backend }: AttributeStage): Promise<FileNode> {
  const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
  onTestFinished(async () => repository.close());
  const onFailure = (error: unknown): void => expect.fail(String(error));
  const snapshots = await MountedSnapshots.open(repository, { place: 'here', onFailure });
  const { listings } = await repository.files.readSnapshots();
  const rootInode = { low: 7, high: 7 };
  const surroundings = {
    rootInode,
    owner: undefined,
    openTree: async (treeId: Uint8Array) => snapshots.openTree(listings[0]!, treeId),
    openFile: snapshots.openFile,
    links: new Map<string, SnapshotNode>(),
  };
  const top = bareDirectory(bs(''), Buffer.from(listings[0]!.snapshot.tree, 'hex'));
  const root = new SnapshotNode(surroundings, top, { inode: rootInode, onForgotten: () => undefined });
  return (await root.lookup(bs('tree')))!;
}

async function contentOf(node: FileNode): Promise<Buffer> {
  const file = await node.open();
  const content = Buffer.alloc(file.sizeBytes);
  expect(await file.read(0, content)).toBe(content.length);
  return content;
}

test('names of one file that were read with different contents keep them, and the others are linked', async () => {
  const [old, other] = [Buffer.from('as it was'), Buffer.from('rewritten')];
  const files = { a: old, b: other, c: old, d: other };
  const { stage } = await stageWith(files, () => ({ inode: 5n, hardlink: { device: 1n, linkCount: 4 } }));

  expect(await dumped(stage)).toEqual(files);

  const directory = await mounted(stage);
  const inodes = [];
  const nodes = [];
  for (const [name, content] of Object.entries(files)) {
    const node = (await directory.lookup(bs(name)))!;
    expect(await contentOf(node)).toEqual(content);
    nodes.push(node);
    inodes.push(node.attributes().inode);
  }
  expect([nodes[2], nodes[3]]).toEqual([nodes[0], nodes[1]]);
  expect(inodes[0]).not.toEqual(inodes[1]);
  const listing = await directory.list();
  expect(Array.from({ length: listing.count }, (_, index) => listing.entryAt(index).inode)).toEqual(inodes);

  expect(await bringBack(stage)).toMatchObject({ problems: [] });
  const target = join(stage.directory, 'target/tree');
  const restored = readdirSync(target).map((name) => [name, readFileSync(join(target, name))]);
  expect(Object.fromEntries(restored)).toEqual(files);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => statSync(join(target, name)).ino);
  expect([c, d]).toEqual([a, b]);
  expect(a).not.toBe(b);
});

test('what was written into a hole during a backup is in an archive and a mount', async () => {
  const content = Buffer.alloc(MIB, 3).fill(0, 8192, 20_000).fill(0, 600_000, MIB);
  const all = Buffer.alloc(MIB, 5);
  const holes = { mixed: Float64Array.of(0, 4096, 8192, 16_384, 500_000, MIB), all: Float64Array.of(0, MIB) };
  const { stage } = await stageWith({ mixed: content, all }, ({ name }) => ({
    holes: holes[name as string as keyof typeof holes],
  }));

  const archived = await dumped(stage);
  expect([archived['mixed']!.equals(content), archived['all']!.equals(all)]).toEqual([true, true]);

  const directory = await mounted(stage);
  const full = (await directory.lookup(bs('all')))!;
  const file = await full.open();
  expect(await file.holes()).toHaveLength(0);
  // GNU tar reads nothing of a file that has no blocks.
  expect(full.attributes().blockCount).toBeGreaterThan(0);
  const mixed = await (await directory.lookup(bs('mixed')))!.open();
  const found = await mixed.holes();
  expect(findData(MIB, found, 0)).toBe(0);
  expect(findHole(MIB, found, 0)).toBe(8192);
  expect(findData(MIB, found, 8192)).toBe(16_384);
  for (let index = 0; index < found.length; index += 2) {
    const hole = content.subarray(found[index], found[index + 1]);
    expect(hole.equals(Buffer.alloc(hole.length))).toBe(true);
  }
});
