import { assertArguments } from '../../core/session/arguments.ts';
import { LdmError } from '../../core/errors.ts';
import { MountError, RepositoryNotFoundError } from '../../core/errors.ts';
import type { FileNode } from './fuse/file-node.ts';
import { FuseServer } from './fuse/fuse-server.ts';
import { createMountPoint } from './fuse/mount-point.ts';
import type { MountPoint } from './fuse/mount-point.ts';
import { loadFuseCalls } from './fuse/system-calls.ts';
import type { FuseCalls } from './fuse/system-calls.ts';
import { bareDirectory } from '../../core/format/tree/tree-entry.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { ROOT_INODE, inodeOfName } from './inode-numbers.ts';
import { checkMountDirectory } from './mount-directory.ts';
import { parsePathTemplate } from './path-templates.ts';
import { MountedSnapshots } from './mounted-snapshots.ts';
import { SnapshotNode } from './snapshot-node.ts';
import { ViewDirectory } from './view-nodes.ts';
import { FILTER_KINDS } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export interface MountOptions {
  /** An existing empty directory. A relative path starts from the current directory. */
  readonly directory: PathInput;
  /** Only these snapshots are shown. */
  readonly filter?: SnapshotFilter;
  /** The paths of the snapshots, with restic's placeholders, such as `%h/%T`. Default: `DEFAULT_TEMPLATES`, and `latest`. */
  readonly pathTemplates?: readonly string[];
  /** Lets other users see the files, as far as their permissions allow. Default: only the user who mounts. */
  readonly allowOther?: boolean;
  /** With `allowOther`: lets everybody read everything, whatever the permissions of the files say. */
  readonly ignorePermissions?: boolean;
  /** Shows all files as owned by root. */
  readonly ownerRoot?: boolean;
  /** Called once the snapshots can be seen. */
  readonly onMounted?: ((mounted: Mounted) => void) | undefined;
}

export interface Mounted {
  /** The absolute path of the mount point. */
  readonly directory: string;
  readonly snapshotCount: number;
}

export interface MountResult extends Mounted {
  /** `signal`: because `OperationContext.signal` was aborted. `outside`: by another program. */
  readonly unmountedBy: 'signal' | 'outside';
}

/**
 * Shows all snapshots as a read-only file system, until `OperationContext.signal` is aborted or another program unmounts
 * it. Holds a shared lock, so a compaction waits; snapshots that are made meanwhile appear. Every byte that is read is
 * verified; what is damaged or cannot be read is an input/output error for the program that reads it, and a notice. It
 * ends when a read or a listing finds that the repository is gone.
 * Linux only.
 * @throws MountError if nothing can be mounted there, RepositoryNotFoundError if the repository is gone
 */
export async function mount(context: OperationContext, options: MountOptions): Promise<MountResult> {
  assertArguments<MountOptions>(context, options, {
    directory: 'path!',
    filter: FILTER_KINDS,
    pathTemplates: 'texts',
    allowOther: 'flag',
    ignorePermissions: 'flag',
    ownerRoot: 'flag',
    onMounted: 'call',
  });
  const templates = (options.pathTemplates ?? []).map((text) => parsePathTemplate(text));
  const calls = loadCalls();
  const directory = checkMountDirectory(options.directory, context.backend.localDirectory);
  return await withRepository(context, 'read', async (repository) => {
    const failures = new FailureNotices(context.onNotice);
    const gone = new AbortController();
    const onFailure = (error: unknown): void => {
      if (error instanceof RepositoryNotFoundError) gone.abort(error);
      else failures.report(error);
    };
    const place = context.backend.location;
    const snapshots = await MountedSnapshots.open(repository, { place, filter: options.filter, templates, onFailure });
    for (const [snapshotId, reason] of snapshots.damaged)
      context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
    repository.throwIfAborted();
    const point = await createMountPoint(calls, { directory, options: mountOptionsOf(options) });
    const mounted = { directory, snapshotCount: snapshots.count };
    const server = new FuseServer({
      calls,
      descriptor: point.descriptor,
      root: rootOf(snapshots, options),
      checksPermissions: checksPermissions(options),
      onReady: () => {
        // From now on there is nothing to wait for, and thus no progress to show.
        beginPhase(context.progress, '');
        options.onMounted?.(mounted);
      },
      onFailure,
    });
    const unmountedBy = await serve(context, { server, point, gone: gone.signal });
    gone.signal.throwIfAborted();
    return { ...mounted, unmountedBy };
  });
}

function loadCalls(): FuseCalls {
  const advice = { code: 'read-without-mount' } as const;
  if (process.platform !== 'linux') throw new MountError('mounting works only on Linux', { advice });
  try {
    return loadFuseCalls();
  } catch (cause) {
    throw new MountError('mounting needs the package koffi, which cannot be loaded here', { advice, cause });
  }
}

/** The kernel checks permissions where more than one user can see the files. */
function checksPermissions({ allowOther, ignorePermissions }: MountOptions): boolean {
  return allowOther === true && ignorePermissions !== true;
}

function mountOptionsOf(options: MountOptions): string[] {
  return [
    ...(options.allowOther === true ? ['allow_other'] : []),
    ...(checksPermissions(options) ? ['default_permissions'] : []),
  ];
}

function rootOf(snapshots: MountedSnapshots, { ownerRoot }: MountOptions): FileNode {
  const self = { uid: process.getuid!(), gid: process.getgid!() };
  const owner = ownerRoot === true ? { uid: 0, gid: 0 } : undefined;
  const openSnapshot = (listing: SnapshotListing, onForgotten: () => void): FileNode => {
    const inode = inodeOfName(ROOT_INODE, listing.id as ByteString);
    const surroundings = {
      rootInode: inode,
      owner,
      openTree: async (treeId: Uint8Array) => snapshots.openTree(listing, treeId),
      openFile: snapshots.openFile,
      links: new Map<string, SnapshotNode>(),
    };
    return new SnapshotNode(surroundings, rootEntryOf(listing, owner ?? self), { inode, onForgotten });
  };
  const mountedSeconds = Math.floor(Date.now() / 1000);
  return new ViewDirectory({ ...(owner ?? self), mountedSeconds, names: snapshots.names, openSnapshot });
}

/** Nothing is recorded of the directory in which the roots of a snapshot are. */
function rootEntryOf(
  { snapshot }: SnapshotListing,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): ReturnType<typeof bareDirectory> {
  const seconds = Math.floor(Date.parse(snapshot.time) / 1000);
  const bare = bareDirectory('' as ByteString, Buffer.from(snapshot.tree, 'hex'));
  return { ...bare, mode: 0o555, uid, gid, mtimeSeconds: seconds, ctimeSeconds: seconds };
}

interface Serving {
  readonly server: FuseServer;
  readonly point: MountPoint;
  /** Aborted when the repository is gone. */
  readonly gone: AbortSignal;
}

/** Serves until the file system is unmounted, here or from outside. */
async function serve(
  { signal, onNotice }: OperationContext,
  { server, point, gone }: Serving,
): Promise<MountResult['unmountedBy']> {
  let unmountedBy: MountResult['unmountedBy'] = 'outside';
  let unmounting: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    unmountedBy = 'signal';
    // The server goes on meanwhile: `fusermount3` itself asks for the root.
    if (await point.unmount({ whenUsed: false })) return;
    if (await point.unmount({ whenUsed: true })) onNotice?.({ kind: 'unmounted-while-used' });
    server.stop();
    point.wake();
  };
  const onAbort = (): void => void (unmounting ??= end());
  for (const each of [signal, gone]) each?.addEventListener('abort', onAbort);
  try {
    if (signal?.aborted === true) onAbort();
    await server.run(point.wakeDescriptor);
    await unmounting;
  } finally {
    for (const each of [signal, gone]) each?.removeEventListener('abort', onAbort);
    await point.close();
  }
  return unmountedBy;
}

/** The number of different failures that are reported. A mount may run for weeks. */
const REPORTED_MAX = 100;

/** Reports each failure of a mount once: the programs that read repeat their requests. */
class FailureNotices {
  readonly #onNotice: OperationContext['onNotice'];
  readonly #reported = new Set<string>();

  constructor(onNotice: OperationContext['onNotice']) {
    this.#onNotice = onNotice;
  }

  report(error: unknown): void {
    const { message } = error as Error;
    if (this.#reported.has(message) || this.#reported.size >= REPORTED_MAX) return;
    this.#reported.add(message);
    const { hint, advice } = error instanceof LdmError ? error : {};
    this.#onNotice?.({ kind: 'mount-failure', message, hint, advice });
  }
}
