import { BackendError, CorruptDataError } from '../../core/errors.ts';

import type { PlaneFiles } from '../agents/peer.ts';
import { parsePlaneFileName } from '../planes/plane-names.ts';
import { isRangesName } from '../planes/range-names.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { RepositoryFiles } from '../../core/repository/repository-files.ts';
import type { OpenRealm } from './realm.ts';

/** Where a domain keeps its own plane files. */
export interface OwnPlaneFiles extends PlaneFiles {
  /** Writes a file, durably. Returns false if there is one of this name. */
  writeNew(name: string, bytes: Uint8Array): Promise<boolean>;
  remove(name: string): Promise<void>;
}

/** A directory that coordinates a realm keeps the planes of all members; otherwise each repository keeps its own. */
export function planeFilesOf(
  { coordinator: { planes }, domainId }: OpenRealm,
  { files, order, assertLocked }: Repository,
): OwnPlaneFiles {
  if (planes !== undefined) {
    return {
      names: async () => planes.names(domainId),
      read: async (name, limitBytes) => planes.read(domainId, name, limitBytes),
      writeNew: async (name, bytes) => planes.writeNew(domainId, name, bytes),
      remove: async (name) => planes.remove(domainId, name),
    };
  }
  return {
    ...planesInRepository(async (use) => use(files)),
    writeNew: async (name, bytes) => {
      try {
        await order.publishFile(name, bytes, assertLocked, true);
        return true;
      } catch (error) {
        if (error instanceof BackendError && error.kind === 'exists') return false;
        throw error;
      }
    },
    remove: async (name) => order.remove([name], assertLocked),
  };
}

/** Reads the plane files in a repository, which `open` opens for each call. */
export function planesInRepository(open: <T>(use: (files: RepositoryFiles) => Promise<T>) => Promise<T>): PlaneFiles {
  return {
    names: async () => open(async (files) => (await files.list('planes')).map(({ name }) => name)),
    read: async (name, limitBytes) => open(async (files) => readPlane(files, name, limitBytes)),
  };
}

async function readPlane(files: RepositoryFiles, name: string, limitBytes: number): Promise<Uint8Array | undefined> {
  if ((parsePlaneFileName(name) === undefined && !isRangesName(name)) || !(await files.exists(name))) return undefined;
  const bytes = await files.read(name);
  if (bytes.length > limitBytes) throw new CorruptDataError(`${name}: ${bytes.length} bytes, more than ${limitBytes}`);
  return bytes;
}
