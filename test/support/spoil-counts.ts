import type { Backend } from '../../src/core/backend/backend.ts';
import type { FilterState } from '../../src/core/ldm/filter-state.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import { unlockOfTests } from './test-password.ts';

/** Writes a filter image, sound in itself, that counts one reference too many of a live chunk or of a dead one. */
export async function spoilCounts(backend: Backend, which: 'live' | 'dead'): Promise<void> {
  await writeImage(backend, ({ filter }) => {
    let chosen = -1;
    filter.forEachEntry((entry, isLive) => {
      if (isLive === (which === 'live') && chosen < 0) chosen = entry;
    });
    filter.retain(chosen);
  });
}

/** Writes a filter image of the repository as it is, after a change if one is wanted. */
export async function writeImage(backend: Backend, change?: (state: FilterState) => void): Promise<void> {
  const repository = await Repository.open({ backend, mode: 'exclusive', unlock: unlockOfTests });
  try {
    const { state } = await repository.openState();
    change?.(state);
    await repository.writeCheckpoint(state);
  } finally {
    await repository.close();
  }
}
