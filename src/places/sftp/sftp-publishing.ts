import { needsOf } from '../../core/backend/publication.ts';
import type { AskedAlong, Publication, TemporaryFile } from '../../core/backend/publication.ts';
import { directoryOf } from '../../core/format/layout.ts';
import { canChain, expectFile, hasOwnRequests, inChain, openUnder } from './own-requests.ts';
import { OPEN_MODE, STATUS, closeLater, hasStatus, syncHandle, unlessAbsent } from './sftp-calls.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { plainRename, posixRename, readPath, unlinkPath } from './sftp-rename.ts';
import { SftpWriter } from './sftp-writer.ts';
import type { WrittenFile } from './sftp-writer.ts';

/** How a temporary file gets its name. All are paths. */
interface ChainedNaming {
  readonly source: string;
  readonly target: string;
  /** The directory of the target. */
  readonly directory: string;
  readonly isNew: boolean;
  /** The files that must exist, with their smallest sizes. */
  readonly sizes: readonly (readonly [string, number])[];
  /** The directories that are synced before. */
  readonly settled: readonly string[];
  /** What is sent behind the requests for the name. */
  readonly along: AskedAlong;
}

/** Steps of a chain that are no looks for files. */
const OTHER_STEPS_MAX = 16;

/** What `publishAtOnce` of `FileSystemBackend` gets. */
export type AtOnce = readonly [file: TemporaryFile, publication: Publication, along: AskedAlong];

interface PublishingPlace {
  readonly pathOf: (name: string) => string;
  readonly run: <T>(
    operation: 'sync' | 'rename' | 'remove',
    name: string,
    action: (connection: SftpConnection, isRepeated: boolean) => Promise<T>,
  ) => Promise<T>;
  readonly syncDirectory: (directory: string) => Promise<void>;
  /** Call this before a file gets its name. */
  readonly onNaming: (connection: SftpConnection, source: string, target: string) => void;
}

/**
 * Syncs a file and gives it its name, durably, in one wait: the server does each step only if all before it have succeeded.
 * Returns false if it has stopped where the step itself tells more when it is done alone.
 * @throws SftpStatusError if something could not be made durable
 */
async function nameInChain({ connection, handle, sizeBytes }: WrittenFile, naming: ChainedNaming): Promise<boolean> {
  const { source, target, directory, isNew, sizes, settled, along } = naming;
  const directories = [...settled, directory].map((path) => openUnder(connection, path, OPEN_MODE.READ));
  const named = directories.at(-1)!;
  const before = [
    async () => syncHandle(connection, handle),
    ...directories.slice(0, -1).map((each) => async () => syncHandle(connection, each)),
  ];
  const rename = isNew ? plainRename : posixRename;
  const steps = [
    ...before,
    async () => expectFile(connection, source, sizeBytes, sizeBytes),
    ...sizes.map(
      ([path, leastBytes]) =>
        async () =>
          expectFile(connection, path, leastBytes),
    ),
    async () => rename(connection, source, target),
    async () => syncHandle(connection, named),
  ];
  const chained = inChain(connection, steps);
  along.send();
  const failure = await chained;
  for (const each of directories) closeLater(connection, each);
  if (failure === undefined) return true;
  const { index, error } = failure;
  const isSync = (index >= 0 && index < before.length) || index === steps.length - 1;
  // A directory may be missing that is not needed, or made by the step alone.
  if (!(error instanceof SftpStatusError) || (isSync && !hasStatus(error, STATUS.NO_SUCH_FILE))) throw error;
  return false;
}

/** Publishes files in one wait on servers that can do that. Where the answer is lost, it looks what was done. */
export class SftpPublishing {
  readonly #place: PublishingPlace;
  /** Temporary files that may have got their names on a lost connection. */
  readonly #unsure = new Set<string>();

  constructor(place: PublishingPlace) {
    this.#place = place;
  }

  /** Whether a rename of this file may have been done without an answer. */
  isUnsure(name: string): boolean {
    return this.#unsure.has(name);
  }

  /** As `publishAtOnce` of `FileSystemBackend`. */
  async publish(...[{ name, writer }, { target, verify, isNew = false }, along]: AtOnce): Promise<boolean> {
    if (!(writer instanceof SftpWriter)) return false;
    const { run, pathOf, onNaming } = this.#place;
    const isNamed = await run('sync', name, async (connection, isRepeated) => {
      if (isRepeated) return undefined;
      const needs = hasOwnRequests(connection) ? needsOf(verify) : undefined;
      if (needs === undefined || !canChain(connection, needs.sizes.size + OTHER_STEPS_MAX)) return false;
      const naming = {
        source: pathOf(name),
        target: pathOf(target),
        directory: pathOf(directoryOf(target)),
        isNew,
        sizes: [...needs.sizes].map(([each, leastBytes]) => [pathOf(each), leastBytes] as const),
        settled: (needs.settled ?? []).map(pathOf),
        along,
      };
      onNaming(connection, name, target);
      const isDone = await writer.syncBy(async (file) => nameInChain(file, naming));
      if (isDone) needs.onMet?.();
      return isDone;
    });
    if (isNamed !== undefined) return isNamed;
    along.forget();
    return await this.#wasDone(name, writer, { target, verify });
  }

  /**
   * The server of the lost connection may still be at work, but stops where something is gone that `verify` misses. So if that fails
   * and the file has no name after that, it will get none. If it has one, the last look decides.
   */
  async #wasDone(
    name: string,
    writer: SftpWriter,
    { target, verify }: Pick<Publication, 'target' | 'verify'>,
  ): Promise<boolean> {
    const { run, pathOf, syncDirectory } = this.#place;
    const [verified] = await Promise.allSettled([verify?.()]);
    const isNamed = await run('rename', `${name} to ${target}`, async (connection) => {
      const bytes = await unlessAbsent(async () => readPath(connection, pathOf(target)));
      return bytes !== undefined && writer.hasWritten(bytes);
    });
    if (isNamed) {
      await syncDirectory(directoryOf(target));
      await run('remove', name, async (connection) => unlessAbsent(async () => unlinkPath(connection, pathOf(name))));
      return true;
    }
    if (verified.status === 'rejected') throw verified.reason;
    this.#unsure.add(name);
    return false;
  }
}
