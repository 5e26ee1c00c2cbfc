import { randomBytes } from 'node:crypto';
import { blake3, checksumOf, sha256, u16, u32, u64 } from './stranger-bytes.ts';
import { CHEAP_KDF, makeConfig, makeKeyFile } from './stranger-config.ts';
import type { StrangerConfig, Json } from './stranger-config.ts';
import { hkdf, newestEpoch, sealEnvelope } from './stranger-crypto.ts';
import type { StrangerKeys } from './stranger-crypto.ts';
import { chunkIdOf, compress } from './stranger-packs.ts';
import type { StrangerBlock, StrangerPack } from './stranger-packs.ts';

/** Writes what the reader reads, also from docs/format.md alone. Nothing here refuses to write nonsense. */

export interface StrangerPlace {
  readonly keys: StrangerKeys;
  readonly config: StrangerConfig & Json;
}

/** A block before it is sealed, and what the footer says about it except for its place. */
export interface WrittenBlock {
  readonly plain: Buffer;
  readonly listed: Omit<StrangerBlock, 'offset'>;
}

export function makeBlock(
  place: StrangerPlace,
  kind: number,
  chunks: readonly Uint8Array[],
  options: { readonly codec?: 0 | 1 } = {},
): WrittenBlock {
  const { codec = 0 } = options;
  const raw = Buffer.concat(chunks);
  const payload = codec === 1 ? compress(raw) : raw;
  const chunkLengths = chunks.map(({ length }) => length);
  const chunkIds = chunks.map((chunk) => chunkIdOf(place.config, kind, chunk));
  const listed = { storedBytes: payload.length, rawBytes: raw.length, codec, chunkIds, chunkLengths };
  return { plain: Buffer.concat([encodeBlockHeader(kind, listed), payload]), listed };
}

export function encodeBlockHeader(kind: number, block: WrittenBlock['listed']): Buffer {
  const { codec, chunkLengths, rawBytes, storedBytes } = block;
  const counts = u32(chunkLengths.length, rawBytes, storedBytes);
  const head = Buffer.concat([Buffer.from('LDMB'), Buffer.of(codec, kind, 0, 0), counts]);
  const table = u32(...chunkLengths);
  return Buffer.concat([head, u32(checksumOf(head, table)), table]);
}

/** Footer and trailer. */
export function encodeFooter(blocks: readonly StrangerBlock[]): Buffer {
  const parts = blocks.map(({ offset, storedBytes, rawBytes, codec, chunkIds, chunkLengths }) =>
    Buffer.concat([
      u32(offset, storedBytes, rawBytes, chunkIds.length, codec),
      Buffer.from(chunkIds.join(''), 'hex'),
      u32(...chunkLengths),
    ]),
  );
  const chunkCount = blocks.reduce((sum, { chunkIds }) => sum + chunkIds.length, 0);
  const footer = Buffer.concat(parts);
  const counts = u32(blocks.length, chunkCount, footer.length);
  return Buffer.concat([footer, counts, u32(checksumOf(footer, counts)), Buffer.from('LDMPEND1')]);
}

/** Writes a pack. `endOf`: what the envelope after the last block contains. */
export async function makePack(
  place: StrangerPlace,
  kind: number,
  blocks: readonly WrittenBlock[],
  endOf: (kind: number, listed: readonly StrangerBlock[]) => Buffer = encodeEnd,
): Promise<{ readonly pack: StrangerPack; readonly bytes: Buffer }> {
  const { keys, config } = place;
  const header = Buffer.concat([Buffer.from('LDMPACK1'), u32(3, 0), (keys.random ?? randomBytes)(16)]);
  const sealed = blocks.map(({ plain }) => sealEnvelope(keys, 'blocks', plain));
  let offset = header.length;
  const listed = blocks.map((block, index) => {
    offset += sealed[index]!.length;
    return { offset: offset - sealed[index]!.length, ...block.listed };
  });
  const end = sealEnvelope(keys, 'footers', endOf(kind, listed));
  const bytes = Buffer.concat([header, ...sealed, end, u32(end.length, 0), Buffer.from('LDMXEND1')]);
  const id = config.required_features.includes('blake3-packs') ? await blake3(bytes) : sha256(bytes);
  return { pack: { id, sizeBytes: bytes.length, kind, blocks: listed }, bytes };
}

function encodeEnd(kind: number, listed: readonly StrangerBlock[]): Buffer {
  return Buffer.concat([u32(kind), encodeFooter(listed)]);
}

export function encodeSegment(packs: readonly StrangerPack[], nonce: Buffer = randomBytes(16)): Buffer {
  const parts = packs.map(({ id, sizeBytes, kind, blocks }) => {
    const footer = encodeFooter(blocks);
    return Buffer.concat([Buffer.from(id, 'hex'), u64(sizeBytes), u32(kind, footer.length), footer]);
  });
  return Buffer.concat([Buffer.from('LDMSEGM1'), u32(3, packs.length), nonce, ...parts]);
}

/** An entry of a tree to be written. `part`: what depends on the type. */
export interface WrittenEntry {
  readonly name: string;
  readonly type: number;
  readonly mode: number;
  readonly flags?: number;
  readonly part: Buffer;
}

export function fileEntry(name: string, sizeBytes: number, chunkIds: readonly string[]): WrittenEntry {
  const part = Buffer.concat([u64(sizeBytes), u32(chunkIds.length), Buffer.from(chunkIds.join(''), 'hex')]);
  return { name, type: 1, mode: 0o644, part };
}

export function directoryEntry(name: string, treeId: string): WrittenEntry {
  return { name, type: 2, mode: 0o755, part: Buffer.from(treeId, 'hex') };
}

export function symlinkEntry(name: string, target: string): WrittenEntry {
  const bytes = Buffer.from(target, 'latin1');
  return { name, type: 3, mode: 0o777, part: Buffer.concat([u16(bytes.length), bytes]) };
}

/** Encodes a tree; the entries belong to one owner, and keep their order. */
export function encodeTree(entries: readonly WrittenEntry[], owner: { uid: number; gid: number } = OWNER): Buffer {
  const owners = Buffer.concat([u32(owner.uid, owner.gid), Buffer.of(0, 0)]);
  const head = [Buffer.from('LDMT'), u16(1), u16(0), u32(entries.length === 0 ? 0 : 1, entries.length)];
  return Buffer.concat([...head, ...(entries.length === 0 ? [] : [owners]), ...entries.map(encodeEntry)]);
}

const OWNER = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const SECONDS = 1_700_000_000;

function encodeEntry({ name, type, mode, flags = 0, part }: WrittenEntry): Buffer {
  const nameBytes = Buffer.from(name, 'latin1');
  const times = [u32(0), u64(SECONDS), u64(SECONDS), u32(0), u64(1)];
  const head = [Buffer.of(type, flags), u16(mode), u32(0), ...times, u16(nameBytes.length), u16(0)];
  const body = Buffer.concat([...head, nameBytes, part]);
  return Buffer.concat([u32(body.length + 4), body]);
}

const COUNTS = [
  'files_new',
  'files_changed',
  'files_unmodified',
  'dirs_new',
  'dirs_changed',
  'dirs_unmodified',
  'data_blobs',
  'tree_blobs',
  'data_added',
  'data_added_packed',
  'total_files_processed',
  'total_bytes_processed',
  'error_count',
];

export function encodeManifest(tree: string, members: Json = {}): Buffer {
  const time = '2026-01-02T03:04:05.678Z';
  const summary = { ...Object.fromEntries(COUNTS.map((name) => [name, 0])), backup_start: time, backup_end: time };
  const names = { hostname: 'stranger', username: 'ada', uid: 1000, gid: 1000, tags: [], program_version: '0' };
  const nonce = randomBytes(16).toString('hex');
  const manifest = { format_version: 1, nonce, time, tree, base: '/data', paths: ['/data'], ...names, summary };
  return Buffer.from(`${JSON.stringify({ ...manifest, ...members })}\n`);
}

/** The configuration of a new repository. */
export function newPlace(features: readonly string[] = ['blake3-packs', 'encryption']): StrangerPlace {
  const keys = { repositoryId: randomBytes(32), masterKeys: new Map([[1, randomBytes(32)]]) };
  const keyOf = (label: string): string =>
    hkdf(keys.masterKeys.get(1)!, keys.repositoryId, `ldm ${label}`).toString('hex');
  const config = {
    format_version: 1,
    required_features: features,
    repository_id: keys.repositoryId.toString('hex'),
    created: '2026-01-02T03:00:00.000Z',
    chunker: { kind: 'fastcdc', min_size_bytes: 512, average_size_bytes: 2048, max_size_bytes: 8192 },
    chunk_hash: 'sha256',
    id_key: keyOf('data ids'),
    ldm: { fpr_target: 0.0078, hashes: 7, capacity: 64 },
    compression: { algorithm: 'zstd', level: 3 },
    chunker_key: keyOf('chunker'),
    earlier_keys: [],
  } as const;
  return { keys, config };
}

/** `config`, `config.bak` and a key file. */
export async function makeKeys(place: StrangerPlace, password: string): Promise<Map<string, Buffer>> {
  const members = {
    format_version: 1,
    repository_id: place.config.repository_id,
    key_epoch: newestEpoch(place.keys),
    role: 'full',
    created: '2026-01-02T03:00:00.000Z',
    host: 'host',
    user: 'ada',
    kdf: CHEAP_KDF,
  };
  const keyFile = await makeKeyFile(members, {
    password,
    masterKey: place.keys.masterKeys.get(newestEpoch(place.keys))!,
  });
  const config = makeConfig(place.config, place.keys);
  return new Map([
    ['config', config],
    ['config.bak', config],
    [`keys/${sha256(keyFile)}`, keyFile],
  ]);
}

/** The name and the stored bytes of a file that is sealed as a whole and named by its digest. */
export function sealFile(
  { keys }: StrangerPlace,
  { directory, label }: { readonly directory: string; readonly label: 'segments' | 'snapshots' | 'condemnations' },
  plain: Uint8Array,
): readonly [string, Buffer] {
  const bytes = sealEnvelope(keys, label, plain);
  return [`${directory}/${sha256(bytes)}`, bytes];
}
