import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { FormatError, blake3, demand, sha256 } from './stranger-bytes.ts';
import { openConfig, openKeyFile, parseChecked } from './stranger-config.ts';
import type { Json, StrangerConfig } from './stranger-config.ts';
import { openEnvelope, openStream } from './stranger-crypto.ts';
import type { StrangerKeys } from './stranger-crypto.ts';
import { DATA, TREE, openBlock, parsePack, parseSegment } from './stranger-packs.ts';
import type { StrangerPack } from './stranger-packs.ts';
import { parseCheckpoint, parseTree } from './stranger-trees.ts';
import type { StrangerCheckpoint, StrangerEntry } from './stranger-trees.ts';

/**
 * A second reader of encrypted repositories, written from docs/format.md alone: it shares nothing with the program. It
 * is not made for speed, and keeps everything in memory. It verifies whatever the document says that a reader must.
 */
export interface StrangerRepository {
  readonly config: StrangerConfig & Json;
  readonly keys: StrangerKeys;
  /** The packs that segments list, by id. */
  readonly packs: ReadonlyMap<string, StrangerPack>;
  /** The manifests by id. */
  readonly snapshots: ReadonlyMap<string, StrangerSnapshot>;
  /** By name. */
  readonly checkpoints: ReadonlyMap<string, StrangerCheckpoint>;
  /** The chunks of all packs by id, those of trees and those of files. */
  readonly chunks: Readonly<Record<number, ReadonlyMap<string, Buffer>>>;
}

export interface StrangerSnapshot extends Json {
  readonly tree: string;
  readonly base: string;
}

/** An entry of a snapshot; `content` only of files. */
export type StrangerFile = StrangerEntry & { readonly content?: Buffer };

/** The files of a repository by name. */
export type StoredFiles = ReadonlyMap<string, Buffer>;

const ID = /^[0-9a-f]{64}$/;

export function readStoredFiles(directory: string): StoredFiles {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(directory, path), readFileSync(path)]));
}

/** The files of a directory whose names are ids, by id. */
function filesOf(stored: StoredFiles, directory: string): (readonly [string, Buffer])[] {
  return [...stored]
    .filter(([name]) => name.startsWith(`${directory}/`))
    .map(([name, bytes]) => [name.slice(name.lastIndexOf('/') + 1), bytes] as const)
    .filter(([id]) => ID.test(id));
}

function digestedFilesOf(stored: StoredFiles, directory: string): (readonly [string, Buffer])[] {
  const files = filesOf(stored, directory);
  for (const [id, bytes] of files) demand(sha256(bytes) === id, `${directory}/${id} is not named by its digest`);
  return files;
}

/** Opens an encrypted repository. Throws if anything in it contradicts the document. */
export async function openStranger(stored: StoredFiles, password: string): Promise<StrangerRepository> {
  const configBytes = stored.get('config') ?? stored.get('config.bak');
  demand(configBytes !== undefined, 'there is no configuration');
  const repositoryId = Buffer.from(String(parseChecked(configBytes)['repository_id']), 'hex');
  const masterKeys = await openMasterKeys(stored, { repositoryId, password });
  const { config, keys } = openConfig(configBytes, { repositoryId, masterKeys });
  const listed = digestedFilesOf(stored, 'index').flatMap(([, bytes]) =>
    parseSegment(openEnvelope(keys, 'segments', bytes)),
  );
  const packs = new Map(listed.map((pack) => [pack.id, pack]));
  const snapshots = digestedFilesOf(stored, 'snapshots').map(([id, bytes]) => [id, openManifest(keys, bytes)] as const);
  const checkpoints = [...stored]
    .filter(([name]) => name.startsWith('filter/'))
    .map(([name, bytes]) => [name, parseCheckpoint(openStream(keys, bytes))] as const);
  const opened = { config, keys, packs, snapshots: new Map(snapshots), checkpoints: new Map(checkpoints) };
  return { ...opened, chunks: await readChunks(stored, opened) };
}

async function openMasterKeys(
  stored: StoredFiles,
  { repositoryId, password }: { readonly repositoryId: Buffer; readonly password: string },
): Promise<Map<number, Buffer>> {
  const masterKeys = new Map<number, Buffer>();
  for (const [, bytes] of digestedFilesOf(stored, 'keys')) {
    const key = await openKeyFile(bytes, password).catch((error: unknown) => {
      // Not the password of this file.
      if (error instanceof FormatError) throw error;
    });
    if (key === undefined) continue;
    demand(key.repositoryId === repositoryId.toString('hex'), 'a key file belongs to another repository');
    masterKeys.set(key.epoch, key.masterKey);
  }
  demand(masterKeys.size > 0, 'the password opens no key file');
  return masterKeys;
}

export function openManifest(keys: StrangerKeys, bytes: Buffer): StrangerSnapshot {
  return JSON.parse(openEnvelope(keys, 'snapshots', bytes).toString('utf8')) as StrangerSnapshot;
}

/** Reads every pack: its name, what it says about itself, what the segment says about it, and all chunks. */
async function readChunks(
  stored: StoredFiles,
  opened: Pick<StrangerRepository, 'config' | 'keys' | 'packs'>,
): Promise<StrangerRepository['chunks']> {
  const chunks: Record<number, Map<string, Buffer>> = { [DATA]: new Map(), [TREE]: new Map() };
  const files = new Map(filesOf(stored, 'packs'));
  for (const [id, listed] of opened.packs) {
    const bytes = files.get(id);
    demand(bytes !== undefined && stored.has(`packs/${id.slice(0, 2)}/${id}`), `pack ${id} is missing`);
    const usesBlake3 = opened.config.required_features.includes('blake3-packs');
    demand((usesBlake3 ? await blake3(bytes) : sha256(bytes)) === id, `pack ${id} is not named by its digest`);
    const pack = parsePack(opened.keys, id, bytes);
    demand(JSON.stringify(pack) === JSON.stringify(listed), `pack ${id} is listed as another one`);
    for (const block of pack.blocks) {
      const raw = openBlock(opened, pack, { block, bytes });
      for (const [index, chunkId] of block.chunkIds.entries()) chunks[pack.kind]!.set(chunkId, raw[index]!);
    }
  }
  return chunks;
}

/** Everything in a snapshot by its path below the base, one character per byte. */
export function filesOfSnapshot(repository: StrangerRepository, snapshotId: string): Map<string, StrangerFile> {
  const snapshot = repository.snapshots.get(snapshotId);
  demand(snapshot !== undefined, `there is no snapshot ${snapshotId}`);
  const found = new Map<string, StrangerFile>();
  visit(repository, snapshot.tree, (path, file) => found.set(path, file));
  return found;
}

function visit(
  { chunks }: Pick<StrangerRepository, 'chunks'>,
  treeId: string,
  found: (path: string, file: StrangerFile) => void,
  prefix = '',
): void {
  const tree = chunks[TREE]!.get(treeId);
  demand(tree !== undefined, `tree ${treeId} is missing`);
  for (const entry of parseTree(tree)) {
    const path = `${prefix}${entry.name}`;
    const parts = entry.chunkIds?.map((id) => chunks[DATA]!.get(id));
    demand(parts?.every((part) => part !== undefined) !== false, `a chunk of ${path} is missing`);
    const content = parts === undefined ? undefined : Buffer.concat(parts);
    demand(content?.length === entry.sizeBytes, `${path} has another size`);
    found(path, content === undefined ? entry : { ...entry, content });
    if (entry.treeId !== undefined) visit({ chunks }, entry.treeId, found, `${path}/`);
  }
}
