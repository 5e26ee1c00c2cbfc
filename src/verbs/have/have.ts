import { SourceError } from '../../core/errors.ts';
import { filesBelow } from '../../core/files/source/files-below.ts';
import type { FileBelow } from '../../core/files/source/files-below.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import { byteStringOf } from '../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { FileCutter } from '../../core/saving/file-cutter.ts';

export interface HaveOptions {
  /** Files, and directories with everything in them. Relative paths start at the current directory. */
  readonly paths: readonly PathInput[];
}

/** A file that was looked for. */
export interface SoughtFile {
  /** As it was given, or below a directory that was given. */
  readonly path: ByteString;
  readonly sizeBytes: number;
  /** Whether snapshots have all of its chunks. An empty file has none. */
  readonly isThere: boolean;
}

export interface HaveResult {
  readonly files: number;
  /** Files of which at least one chunk is not in the repository. */
  readonly missingFiles: number;
  readonly bytes: number;
  readonly missingBytes: number;
  /** Files and directories that could not be read; each was reported by a notice. */
  readonly unreadable: number;
}

/**
 * Finds out whether the content of files is in the repository, wherever it was backed up from: cuts them as a backup
 * would, and asks the filter for each chunk that some snapshot uses. Reads the files, and no data of the repository, so
 * it does not notice damage there. A file is read up to its first chunk that is not there.
 */
export async function findContent(
  context: OperationContext,
  options: HaveOptions,
  onFile: (file: SoughtFile) => void,
): Promise<HaveResult> {
  assertArguments<HaveOptions>(context, options, { paths: 'paths!' });
  assertArgument('onFile', onFile, 'call!');
  return await withRepository(context, 'read', async (repository) => {
    const { state } = await repository.openState({ listsPacks: true });
    beginPhase(context.progress, 'comparing');
    const isThere = (id: Uint8Array): boolean => isUsed(state, id);
    const search = new ContentSearch(context, { isThere, cutter: new FileCutter(repository), onFile });
    for (const path of options.paths) await search.run(byteStringOf(path));
    return search.result;
  });
}

function isUsed({ filter }: FilterState, id: Uint8Array): boolean {
  const entry = filter.find(id, 0);
  return entry >= 0 && filter.hasLocation(entry) && filter.refs(entry) > 0;
}

interface SearchServices {
  /** Whether some snapshot uses a chunk. */
  readonly isThere: (id: Uint8Array) => boolean;
  readonly cutter: FileCutter;
  readonly onFile: (file: SoughtFile) => void;
}

class ContentSearch {
  readonly result: { -readonly [Name in keyof HaveResult]: HaveResult[Name] } = {
    files: 0,
    missingFiles: 0,
    bytes: 0,
    missingBytes: 0,
    unreadable: 0,
  };
  readonly #context: OperationContext;
  readonly #services: SearchServices;
  readonly #pacer: Pacer;

  constructor(context: OperationContext, services: SearchServices) {
    this.#context = context;
    this.#services = services;
    this.#pacer = new Pacer(context);
  }

  async run(named: ByteString): Promise<void> {
    const report = (path: ByteString, error: unknown, isNamed: boolean): void => this.#report(path, error, isNamed);
    for (const file of filesBelow(named, report)) {
      try {
        await this.#seek(file);
      } catch (error) {
        this.#report(file.path, error, file.path === named);
      }
    }
  }

  async #seek({ path, place, sizeBytes }: FileBelow): Promise<void> {
    const isThere = await this.#isThere(place);
    const { result } = this;
    result.files += 1;
    result.bytes += sizeBytes;
    if (!isThere) {
      result.missingFiles += 1;
      result.missingBytes += sizeBytes;
    }
    this.#services.onFile({ path, sizeBytes, isThere });
  }

  async #isThere(place: ByteString): Promise<boolean> {
    const { cutter, isThere } = this.#services;
    for (const { id } of cutter.chunks(place, isThere)) {
      if (!isThere(id)) return false;
      const pause = this.#pacer.pause();
      if (pause !== undefined) await pause;
    }
    const pause = this.#pacer.pause();
    if (pause !== undefined) await pause;
    return true;
  }

  #report(path: ByteString, error: unknown, mustExist: boolean): void {
    if (!(error instanceof SourceError)) throw error;
    if (error.errno === 'ENOENT' && !mustExist) return;
    this.result.unreadable += 1;
    this.#context.onNotice?.({ kind: 'source-problem', path, during: 'read', message: error.message });
  }
}
