import type { Backend, Verify } from '../backend/backend.ts';
import { isAbsent, isDiskFull } from '../errors.ts';
import { RESERVE_NAME } from '../format/layout.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';

/** Moves a file. Returns false if it does not exist. */
export async function moveUnlessGone(backend: Backend, source: string, target: string): Promise<boolean> {
  try {
    await backend.move(source, target);
    return true;
  } catch (error) {
    if (!isAbsent(error) || (await backend.sizeOf(source)) !== undefined) throw error;
    return false;
  }
}

/** The same for a step that makes room: it must not fail where a move needs some, as in a store of objects. */
export async function moveMakingRoom(backend: Backend, source: string, target: string): Promise<boolean> {
  return await makingRoom(backend, async () => moveUnlessGone(backend, source, target));
}

/** If there is no room for a step, the reserve is removed. A compaction puts it back. */
export async function makingRoom<T>(backend: Backend, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await removeAll(backend, [RESERVE_NAME]);
    await backend.barrier();
    return await step();
  }
}

/** Removes files, several at once on another machine. `verify` runs right before each removal. */
export async function removeAll(backend: Backend, names: readonly string[], verify?: Verify): Promise<void> {
  await mapConcurrently(names, backend.readsAtOnce, async (name) => {
    await verify?.();
    await backend.remove(name);
  });
}

/** Returns a name for a file that is set aside. What was set aside earlier is never overwritten. */
export async function freeQuarantineName(backend: Backend, name: string): Promise<string> {
  const target = `quarantine/${name.replaceAll('/', '-')}`;
  for (let count = 0; ; count += 1) {
    const free = count === 0 ? target : `${target}.${count}`;
    if ((await backend.sizeOf(free)) === undefined) return free;
  }
}
