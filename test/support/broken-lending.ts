import { decodeSnapshot } from '../../src/core/format/snapshot.ts';
import type { OpenSide } from './lending-model.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { scheduledDirectory } from './scheduled-process.ts';
import type { Lie, ModelProcess } from './scheduled-process.ts';

/**
 * Orders of lending that lose chunks, those first that are found soon. The model of lending must find each. Every call
 * returns one that was never used.
 */
export const BROKEN_ORDERS: readonly (readonly [order: string, make: () => OpenSide])[] = [
  ['a lender says that it keeps chunks, and its manifest is never written', () => lenderRenames(async () => undefined)],
  ['a lender compacts by the holds that it knew before its lock', () => lies('owner', /^owner compact$/, oldManifests)],
  ['a lender keeps chunks without a lock', () => lies('owner', /^holder backup$/, withoutLock)],
  ['a holder ends holds that its packs need', () => lies('owner', HOLDER_RELEASE, greedyRelease)],
  ['a backup commits before its hold is durable', () => lateManifests('snapshots/')],
  ['a backup publishes borrowed packs before its hold is durable', () => lateManifests('index/')],
];

const HOLDER_RELEASE = /^holder (compact|delete)$/;
const MANIFEST = /^(snapshots|manifests\.bak)\//;

/** It goes on when nobody else can: what is wrong in this order happens more often then. */
function pause(process: ModelProcess): void {
  process.sleepsUntil = Number.MAX_SAFE_INTEGER;
}

function lies(side: string, kind: RegExp, lie: Lie): OpenSide {
  const never: Lie = () => ({});
  return (at) => (disk, process, onChange) =>
    scheduledDirectory(at === side && kind.test(process.kind) ? lie : never)(disk, process, onChange);
}

/** A disk that does some things in another way. */
function changed(disk: MemoryBackend, changes: Partial<Pick<MemoryBackend, 'rename' | 'unlink'>>): MemoryBackend {
  return new Proxy(disk, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in changes ? changes : target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** What a backup of the holder does with manifests of the owner. */
function lenderRenames(instead: (process: ModelProcess, write: () => Promise<void>) => Promise<void>): OpenSide {
  return (side) => (disk, process, onChange) => {
    const isLent = side === 'owner' && process.kind === 'holder backup';
    let hasAnswered = false;
    const rename = async (from: string, to: string): Promise<void> => {
      const write = async (): Promise<void> => disk.rename(from, to);
      hasAnswered ||= MANIFEST.test(to);
      await (MANIFEST.test(to) ? instead(process, write) : write());
    };
    const unlink = async (name: string): Promise<boolean> => {
      // Now the owner may do anything.
      if (hasAnswered && name.startsWith('locks/')) pause(process);
      return await disk.unlink(name);
    };
    return scheduledDirectory()(isLent ? changed(disk, { rename, unlink }) : disk, process, onChange);
  };
}

/** The manifests of holds are written when the backup has renamed its own file in this directory. */
function lateManifests(directory: string): OpenSide {
  const late = new Map<ModelProcess, (() => Promise<void>)[]>();
  const lender = lenderRenames(async (process, write) => {
    late.set(process, [...(late.get(process) ?? []), write]);
  });
  return (side) => (disk, process, onChange) => {
    if (side === 'owner') return lender(side)(disk, process, onChange);
    const rename = async (from: string, to: string): Promise<void> => {
      await disk.rename(from, to);
      if (!to.startsWith(directory)) return;
      for (const write of late.get(process) ?? []) await write();
      late.delete(process);
    };
    return scheduledDirectory()(changed(disk, { rename }), process, onChange);
  };
}

/** Others do not see its lock. */
const withoutLock: Lie = (process, disk) => ({
  exists: (name) => {
    if (!name.startsWith('locks/')) return undefined;
    void disk.remove(name);
    pause(process);
    return true;
  },
});

/** It does not see manifests that were written since it began. */
const oldManifests: Lie = (process, disk) => {
  const known = new Set(disk.names());
  pause(process);
  return {
    list: (directory) =>
      MANIFEST.test(`${directory}/`)
        ? disk.names().filter((name) => name.startsWith(`${directory}/`) && known.has(name))
        : undefined,
  };
};

/** Whoever asks for the holds ends them. */
const greedyRelease: Lie = (_, disk) => ({
  list: (directory) => {
    if (directory !== 'snapshots') return undefined;
    for (const name of disk.names().filter((each) => each.startsWith('snapshots/')))
      if (decodeSnapshot(disk.peek(name)!).hold !== undefined)
        void disk.rename(name, name.replace('snapshots/', 'deleted/'));
    return undefined;
  },
});
