import { UsageError } from '../errors.ts';
import type { OwnerNames } from '../files/native/owner-names.ts';
import { absolutePath, parentOf } from '../files/paths/root-paths.ts';
import type { SourceMetadata } from '../files/source/status-fields.ts';
import { NO_ATTRIBUTES } from '../format/tree/tree-entry.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { ByteString } from '../util/byte-string.ts';
import { byteStringOf } from '../util/byte-string.ts';
import type { Caller } from '../session/caller.ts';
import type { ChangingFiles } from './changing-files.ts';
import type { BackupTally } from './backup-tally.ts';
import { ContentStream } from './content-stream.ts';
import type { StreamedFile } from './content-stream.ts';
import type { EntryListing } from './entry-listing.ts';
import { buildEntry } from '../sources/entry-builder.ts';
import type { ContentSaver } from './content-saver.ts';
import type { ParentSnapshot } from '../sources/parent-snapshot.ts';
import type { ParentTrees } from '../sources/parent-tree.ts';
import type { SourcePlan } from '../sources/source-plan.ts';
import type { TreeSaver } from './tree-saver.ts';

/** Only the user may read it, since what is in it is not known. */
const STREAM_MODE = 0o600;
const ROOT = '/' as ByteString;

interface StreamServices {
  readonly context: Caller;
  readonly content: ContentSaver;
  readonly changing: ChangingFiles;
  readonly trees: TreeSaver;
  readonly parentTrees: ParentTrees;
  readonly owners: OwnerNames;
  readonly tally: BackupTally;
  readonly listing: EntryListing | undefined;
  /** The time of the snapshot in RFC 3339, which becomes that of the file. */
  readonly time: string;
  /** Whether to take over the entry of the parent snapshot if the content is the same. */
  readonly keepsUnchanged: boolean;
}

/** Returns the plan of a snapshot with one streamed file. Throws UsageError if the path names none. */
export function planStream({ path }: StreamedFile): SourcePlan {
  const given = byteStringOf(path);
  const root = absolutePath(given, ROOT);
  if (root === ROOT || given.endsWith('/') || given.includes('\0')) {
    throw new UsageError('the name for the stream is not the name of a file');
  }
  const name = nameOf(root);
  const names = new Map([[name, { isRoot: true, children: new Map() }]]);
  return { base: parentOf(root), roots: [root], followed: new Map(), names, isBaseRoot: false };
}

/** Stores the content and the tree with its entry. Returns the id of the tree. */
export async function storeStream(
  file: StreamedFile,
  { roots: [root] }: SourcePlan,
  parent: ParentSnapshot | undefined,
  services: StreamServices,
): Promise<Uint8Array> {
  const { context, trees, parentTrees, owners, tally, listing } = services;
  const name = nameOf(root!);
  const previousTree = await parentTrees.read(parent?.tree);
  const previous = previousTree?.entries.find(name);
  tally.begin({ parent: undefined, name });
  const stream = new ContentStream(file, context.signal);
  try {
    const place = { parent: undefined, name };
    // Without a large version in the parent snapshot, it may still be a copy of a file that is in small chunks.
    const splitting =
      (previous && (await services.changing.splittingOf(place, previous.sizeBytes, previous))) ?? 'known';
    const content = await services.content.save(stream, splitting);
    if (content.sizeBytes === 0) context.onNotice?.({ kind: 'stream-empty' });
    const isSame = services.keepsUnchanged && previous !== undefined && hasChunks(previous, content.chunkIds);
    const entry = isSame ? previous : buildEntry(name, streamMetadata(services.time), owners, content, NO_ATTRIBUTES);
    const change = tally.countFile(entry, previous, false);
    listing?.add(place, change, 'file', content.isSplit);
    const tree = trees.begin(previousTree, 1);
    tree.add(entry);
    return await trees.save(tree, previousTree);
  } finally {
    stream.close();
  }
}

function nameOf(path: ByteString): ByteString {
  return path.slice(path.lastIndexOf('/') + 1) as ByteString;
}

function hasChunks({ type, chunkIds }: TreeEntry, ids: Uint8Array): boolean {
  return type === 'file' && Buffer.compare(chunkIds, ids) === 0;
}

/** The metadata of a file that no file system has. `time`: its time, in RFC 3339. */
export function streamMetadata(time: string): SourceMetadata {
  const ms = Date.parse(time);
  const seconds = Math.floor(ms / 1000);
  const nanoseconds = (ms - seconds * 1000) * 1e6;
  return {
    type: 'file',
    mode: STREAM_MODE,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    mtimeSeconds: seconds,
    mtimeNanoseconds: nanoseconds,
    ctimeSeconds: seconds,
    ctimeNanoseconds: nanoseconds,
    birthSeconds: undefined,
    birthNanoseconds: 0,
    inode: 0n,
    device: 0n,
    sizeBytes: 0,
    allocatedBytes: 0,
    linkCount: 1,
    deviceMajor: 0,
    deviceMinor: 0,
  };
}
