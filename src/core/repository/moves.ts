import type { Backend, Verify } from '../backend/backend.ts';
import { isAbsent, isDiskFull } from '../errors.ts';
import { RESERVE_NAME } from '../format/layout.ts';
import { bothOf, mapConcurrently } from '../util/map-concurrently.ts';

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

/**
 * Removes files, several at once on another machine. `verify` runs right before each removal; not once more for those that
 * are removed first, if it `isVerified`.
 */
async function removeAll(
  backend: Backend,
  names: readonly string[],
  { verify, isVerified = false }: Verifying = {},
): Promise<void> {
  await mapConcurrently(names, backend.readsAtOnce, async (name, index) => {
    if (!isVerified || index >= backend.readsAtOnce) await verify?.();
    await backend.remove(name);
  });
}

interface Verifying {
  readonly verify?: Verify | undefined;
  readonly isVerified?: boolean;
}

/**
 * Removes groups of files, each durably before the next one. On another machine, what makes a group durable goes out
 * together with what verifies the next one. `isVerified`: the first group is.
 */
export async function removeInTurn(
  backend: Backend,
  all: readonly (readonly string[])[],
  { verify, isVerified = false }: Verifying,
): Promise<void> {
  const isFar = backend.readsAtOnce > 1;
  const groups = all.filter(({ length }) => length > 0);
  let isSure = isVerified && isFar;
  for (const [index, names] of groups.entries()) {
    await removeAll(backend, names, { verify, isVerified: isSure });
    isSure = isFar && verify !== undefined && index + 1 < groups.length;
    await bothOf(backend.barrier(), isSure ? verify!() : Promise.resolve());
  }
  if (groups.length === 0) await backend.barrier();
}

/** Returns a name for a file that is set aside. What was set aside earlier is never overwritten. */
export async function freeQuarantineName(backend: Backend, name: string): Promise<string> {
  const target = `quarantine/${name.replaceAll('/', '-')}`;
  for (let count = 0; ; count += 1) {
    const free = count === 0 ? target : `${target}.${count}`;
    if ((await backend.sizeOf(free)) === undefined) return free;
  }
}
