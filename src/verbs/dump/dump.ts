import { UsageError } from '../../core/errors.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { byteStringFromBytes, textOf } from '../../core/util/byte-string.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { entriesBelow, naming } from './archive-entries.ts';
import type { ArchiveEntry } from './archive-entries.ts';
import { OutputBuffer } from './output-buffer.ts';
import type { WriteBytes } from './output-buffer.ts';
import { TarOutput } from './tar-output.ts';
import { ZipOutput } from './zip-output.ts';
import { openSnapshot } from '../../core/snapshots/open-snapshot.ts';
import type { SnapshotReader } from '../../core/snapshots/open-snapshot.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { WriteBytes } from './output-buffer.ts';

export type ArchiveFormat = 'tar' | 'zip';

export interface DumpOptions extends DumpOutputOptions {
  /** `ID[:path]`, `latest`, `latest~N`. */
  readonly selector: PathInput;
  readonly filter?: SnapshotFilter;
}

export interface DumpOutputOptions {
  /** The format of an archive. Default: the bytes of a file as they are, and a tar archive of a directory. */
  readonly format?: ArchiveFormat;
  /** Refuses anything but a file. */
  readonly onlyFile?: boolean;
  /** Takes the output in order. If it returns a promise, it is waited for. */
  readonly write: WriteBytes;
  /** Called before the first byte of an archive, to refuse it by throwing. */
  readonly onArchive?: () => void;
}

export interface DumpResult {
  readonly snapshotId: string;
  /** Undefined for the bytes of a file. */
  readonly format: ArchiveFormat | undefined;
  readonly bytesWritten: number;
  /** Paths that the format cannot have: sockets, and in zip archives devices and FIFOs. The first 20, and how many. */
  readonly leftOut: readonly ByteString[];
  readonly leftOutCount: number;
}

const LEFT_OUT_MAX = 20;

/**
 * Writes a file of a snapshot, or an archive of a directory, whose names start from that directory. Every byte is
 * verified before it is written. Needs no memory for the contents.
 * @throws CorruptDataError if data is damaged and there is no other copy; the output is incomplete then
 * @throws UsageError for an entry that is neither a file nor a directory, unless it is to be archived
 */
export async function dump(context: OperationContext, options: DumpOptions): Promise<DumpResult> {
  assertArguments<DumpOptions>(context, options, {
    selector: 'path!',
    filter: FILTER_KINDS,
    format: ['tar', 'zip'],
    onlyFile: 'flag',
    write: 'call!',
    onArchive: 'call',
  });
  const { selector, filter } = options;
  const snapshot = await openSnapshot(context, filter === undefined ? { selector } : { selector, filter });
  try {
    beginPhase(context.progress, 'reading');
    return await dumpOpened(context, { ...options, snapshot, path: snapshot.path });
  } finally {
    await snapshot.close();
  }
}

export interface DumpOpenedOptions extends DumpOutputOptions {
  readonly snapshot: SnapshotReader;
  /** From the root of the snapshot; empty for all of it. */
  readonly path: Uint8Array;
}

/** Like `dump`, from a snapshot that is open already, and stays open. Of the context, it uses `signal` and `progress`. */
export async function dumpOpened(
  context: Pick<OperationContext, 'signal' | 'progress'>,
  options: DumpOpenedOptions,
): Promise<DumpResult> {
  const { snapshot, path, onlyFile = false } = options;
  const entry = await snapshot.stat(path);
  const output = new OutputBuffer(options.write);
  const format = options.format ?? (entry.type === 'directory' ? 'tar' : undefined);
  const run = { context, options, entry, output };
  if (onlyFile || format === undefined) await writeFile(run);
  const leftOut = onlyFile || format === undefined ? new LeftOut() : await writeArchive(run, format);
  await output.flush();
  const { paths, count } = leftOut;
  const written = { bytesWritten: output.sizeBytes, leftOut: paths, leftOutCount: count };
  return { snapshotId: snapshot.listing.id, format: onlyFile ? undefined : format, ...written };
}

interface DumpRun {
  readonly context: Pick<OperationContext, 'signal' | 'progress'>;
  readonly options: DumpOpenedOptions;
  readonly entry: TreeEntry;
  readonly output: OutputBuffer;
}

async function writeFile({ context, options, entry, output }: DumpRun): Promise<void> {
  const { snapshot, path } = options;
  if (entry.type !== 'file') throw notAFile(options, entry);
  const { progress } = context;
  if (progress !== undefined) progress.bytesTotal = entry.sizeBytes;
  await naming(byteStringFromBytes(path), async () => {
    const file = await snapshot.openFile(entry);
    for await (const piece of file.pieces()) {
      await output.add(piece);
      if (progress !== undefined) progress.bytesDone += piece.length;
    }
  });
}

function notAFile({ path, snapshot: { listing } }: DumpOpenedOptions, { type, linkTarget }: TreeEntry): UsageError {
  const name = path.length === 0 ? `snapshot ${listing.id.slice(0, 8)}` : textOf(byteStringFromBytes(path));
  if (type === 'directory')
    return new UsageError(`${name} is a directory, not a file`, { advice: { code: 'archive-directory' } });
  const what = type === 'symlink' ? `a symlink to ${textOf(linkTarget)}` : `a ${type.replace('-', ' ')}`;
  return new UsageError(`${name} is ${what}, not a file`, { advice: { code: 'archive-entry' } });
}

/** The paths that an archive cannot have. */
class LeftOut {
  readonly paths: ByteString[] = [];
  count = 0;

  add(path: ByteString): void {
    this.count += 1;
    if (this.count <= LEFT_OUT_MAX) this.paths.push(path);
  }
}

async function writeArchive({ context, options, entry, output }: DumpRun, format: ArchiveFormat): Promise<LeftOut> {
  const { snapshot } = options;
  options.onArchive?.();
  const archive = format === 'tar' ? new TarOutput(snapshot, output) : new ZipOutput(snapshot, output);
  const pacer = new Pacer(context);
  const leftOut = new LeftOut();
  const { progress } = context;
  for await (const next of entry.type === 'directory' ? entriesBelow(snapshot, entry) : [onlyOne(entry)]) {
    if (archive.canHave(next.entry)) await naming(next.path, async () => archive.add(next));
    else leftOut.add(next.path);
    if (progress !== undefined && next.entry.type === 'file') {
      progress.filesDone += 1;
      progress.bytesDone += next.entry.sizeBytes;
    }
    await pacer.pause();
  }
  await archive.finish();
  return leftOut;
}

function onlyOne(entry: TreeEntry): ArchiveEntry {
  return { path: entry.name, entry };
}
