import type { Backend } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { isAbsent } from '../errors.ts';
import type { Group } from './group.ts';

/** A place with packs: a group, or the place of everything else. */
export type PackHome = Pick<Group, 'id' | 'isGroup' | 'isOnline' | 'list' | 'sizeOf' | 'run' | 'move' | 'remove'>;

/** The place of everything else, which has the packs of trees. */
export function homeIn(backend: Backend): PackHome {
  return {
    id: '',
    isGroup: false,
    isOnline: true,
    list: async (directory) =>
      backend.list(directory).catch(async (error: unknown) => {
        // A copy of a repository may have lost empty directories. Without a configuration it was moved away.
        if (isAbsent(error) && (await repositoryExists(backend))) return [];
        throw error;
      }),
    sizeOf: async (name) => backend.sizeOf(name),
    run: async (step) => step(backend),
    move: async (source, target) => backend.move(source, target),
    remove: async (name) => backend.remove(name),
  };
}
