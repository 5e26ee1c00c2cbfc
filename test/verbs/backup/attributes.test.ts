import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';

import { nativeCalls } from '../../../src/core/files/native/native.ts';
import { decodeSnapshot } from '../../../src/core/format/snapshot.ts';
import { decodeTree } from '../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { readPackedChunks } from '../../support/brute-force.ts';
import { forgeSnapshot } from '../../support/forge-snapshot.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { beforeReads } from '../../support/file-calls.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { missingTools, runTool, testNeeding } from '../../support/tools.ts';
import { NO_ROOT, isRoot } from '../../support/unprivileged.ts';

const NO_TOOLS = missingTools('setfattr', 'setfacl', 'setcap', 'chattr', 'getfattr', 'lsattr');
const MIB = 1024 * 1024;

interface Stage {
  readonly backend: MemoryBackend;
  readonly work: string;
  readonly save: () => Promise<BackupResult>;
}

async function makeStage(): Promise<Stage> {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  const work = join(temporaryDirectory(), 'work');
  mkdirSync(work);
  return { backend, work, save: async () => await backup({ backend }, { sources: [work], cwd: '/' }) };
}

/** The entries of `work` and in it, by name. */
async function entriesOf({ backend }: Stage, snapshotId: string): Promise<Map<string, TreeEntry>> {
  const chunks = await readPackedChunks(backend);
  const read = (id: string): TreeEntry[] => decodeTree(chunks.get(id)!.bytes!);
  const [work] = read(decodeSnapshot(backend.peek(`snapshots/${snapshotId}`)!).tree);
  const inside = read(Buffer.from(work!.treeId!).toString('hex'));
  return new Map([work!, ...inside].map((entry) => [entry.name, entry]));
}

/** What `getfattr` says, in the form of an entry. */
function attributesByTool(path: string): Record<string, string> {
  const lines = runTool('getfattr', '-h', '-d', '-m', '-', '-e', 'hex', '--absolute-names', path).split('\n');
  return Object.fromEntries(
    lines.filter((line) => line.includes('=0x')).map((line) => line.split('=0x') as [string, string]),
  );
}

function attributesOf({ xattrs }: TreeEntry): Record<string, string> {
  return Object.fromEntries(xattrs.map(({ name, value }) => [name, Buffer.from(value).toString('hex')]));
}

function makeFiles(work: string): void {
  writeFileSync(join(work, 'plain'), 'content');
  writeFileSync(join(work, 'file'), 'content');
  writeFileSync(join(work, 'large'), Buffer.alloc(MIB, 7));
  mkdirSync(join(work, 'directory'));
  symlinkSync('file', join(work, 'link'));
  for (const name of ['file', 'large', 'directory']) {
    runTool('setfattr', '-n', 'user.name', '-v', 'a value', join(work, name));
    runTool('setfattr', '-n', 'user.bytes', '-v', '0x00ff0a', join(work, name));
    runTool('setfacl', '-m', 'u:65534:r', join(work, name));
    runTool('chattr', '+dA', join(work, name));
  }
  runTool('setfacl', '-d', '-m', 'g:65534:rx', join(work, 'directory'));
  if (!isRoot) return;
  runTool('setcap', 'cap_net_raw+ep', join(work, 'file'));
  runTool('setfattr', '-h', '-n', 'trusted.link', '-v', 'x', join(work, 'link'));
}

testNeeding(NO_TOOLS)(`saves what getfattr and lsattr show, of each kind`, async () => {
  const stage = await makeStage();
  makeFiles(stage.work);
  const result = await stage.save();
  expect(result.problems).toEqual([]);
  expect(result.snapshot.attributes).toBe(isRoot ? 'all' : 'visible');
  const entries = await entriesOf(stage, result.snapshotId!);
  for (const name of ['plain', 'file', 'large', 'directory', 'link'])
    expect([name, attributesOf(entries.get(name)!)]).toEqual([name, attributesByTool(join(stage.work, name))]);
  expect(Object.keys(attributesOf(entries.get('directory')!))).toContain('system.posix_acl_default');
  if (isRoot) expect(Object.keys(attributesOf(entries.get('file')!))).toContain('security.capability');
  if (isRoot) expect(Object.keys(attributesOf(entries.get('link')!))).toEqual(['trusted.link']);
  for (const name of ['file', 'large', 'directory'])
    expect([name, entries.get(name)!.inodeFlags]).toEqual([name, 0xc0]);
  expect(entries.get('plain')).toMatchObject({ xattrs: [], inodeFlags: 0 });
  const born = Number(runTool('stat', '-c', '%W', join(stage.work, 'plain')));
  expect(entries.get('plain')!.birthTime?.seconds).toBe(born === 0 ? undefined : born);
});

test('records holes exactly, small and large, and files that are only holes', async () => {
  const stage = await makeStage();
  const make = (name: string, sizeBytes: number, written: readonly number[]): void => {
    const path = join(stage.work, name);
    writeFileSync(path, '');
    truncateSync(path, sizeBytes);
    const descriptor = openSync(path, 'r+');
    for (const offset of written) writeSync(descriptor, Buffer.alloc(4096, 1), 0, 4096, offset);
    closeSync(descriptor);
  };
  make('only', 100_000, []);
  make('huge', 40 * MIB + 1, []);
  make('middle', 3 * MIB, [0, MIB, 3 * MIB - 4096]);
  make('none', 8192, [0, 4096]);
  make('end', 16_384, [0]);
  const { snapshotId } = await stage.save();
  const entries = await entriesOf(stage, snapshotId!);
  const holes = (name: string): number[] => [...entries.get(name)!.holes];
  expect(holes('only')).toEqual([0, 100_000]);
  expect(holes('huge')).toEqual([0, 40 * MIB + 1]);
  expect(holes('middle')).toEqual([4096, MIB, MIB + 4096, 3 * MIB - 4096]);
  expect(holes('none')).toEqual([]);
  expect(holes('end')).toEqual([4096, 16_384]);
});

testNeeding(NO_TOOLS)(`an unchanged tree has the same id, and a new attribute is noticed`, async () => {
  const stage = await makeStage();
  makeFiles(stage.work);
  const trees: string[] = [];
  for (let round = 0; round < 2; round += 1) trees.push((await stage.save()).snapshot.tree);
  expect(trees[1]).toBe(trees[0]);
  for (const name of ['plain', 'directory', '.']) {
    runTool('setfattr', '-n', 'user.later', '-v', name, join(stage.work, name));
    const { snapshotId } = await stage.save();
    const entry = (await entriesOf(stage, snapshotId!)).get(name === '.' ? 'work' : name)!;
    expect(attributesOf(entry)).toMatchObject({ 'user.later': Buffer.from(name).toString('hex') });
  }
});

testNeeding(NO_TOOLS)(`a parent without attributes is completed without reading contents`, async () => {
  const stage = await makeStage();
  makeFiles(stage.work);
  const past = new Date(Date.now() - 3_600_000);
  utimesSync(join(stage.work, 'file'), past, past);
  const first = await stage.save();
  const old = { ...decodeSnapshot(stage.backend.peek(`snapshots/${first.snapshotId!}`)!) } as { attributes?: 'all' };
  expect(old.attributes).toBeDefined();
  const forged = await forgeSnapshot(stage.backend, first.snapshotId!, () => NO_ATTRIBUTES, {
    attributes: undefined as never,
  });
  const stripped = await entriesOf(stage, forged);
  expect(stripped.get('file')).toMatchObject({ xattrs: [], inodeFlags: 0 });
  const read: string[] = [];
  beforeReads(stage.work, (path) => void read.push(path));
  const second = await stage.save();
  expect(read).toEqual([]);
  expect(second.summary).toMatchObject({ filesUnmodified: 3, filesNew: 0, filesChanged: 0 });
  expect(second.snapshot.tree).toBe(first.snapshot.tree);
});

testNeeding(NO_TOOLS, NO_ROOT)(`root completes the snapshot of a user`, async () => {
  const stage = await makeStage();
  makeFiles(stage.work);
  const first = await stage.save();
  const forget = (): Partial<TreeEntry> => ({ xattrs: [] });
  await forgeSnapshot(stage.backend, first.snapshotId!, forget, { attributes: 'visible' });
  expect((await stage.save()).snapshot.tree).toBe(first.snapshot.tree);
});

test('attributes that cannot be read are counted and named, and are read again next time', async () => {
  const stage = await makeStage();
  writeFileSync(join(stage.work, 'file'), Buffer.alloc(MIB, 1));
  chmodSync(join(stage.work, 'file'), 0o644);
  const calls = nativeCalls()!.attributes!;
  const list = vi.spyOn(calls, 'list').mockReturnValue(-5);
  const { problems, attributesIncomplete, snapshot } = await stage.save();
  expect(list).toHaveBeenCalled();
  expect(attributesIncomplete).toBe(2);
  expect(snapshot.attributes).toBeUndefined();
  expect(problems.map(({ path, during, message }) => [path, during, message])).toEqual([
    [stage.work, 'attributes', 'saved without the list of extended attributes (EIO)'],
    [join(stage.work, 'file'), 'attributes', 'saved without the list of extended attributes (EIO)'],
  ]);
  const again = await stage.save();
  expect(again.attributesIncomplete).toBe(2);
  list.mockRestore();
  expect(await stage.save()).toMatchObject({ attributesIncomplete: 0, problems: [] });
});
