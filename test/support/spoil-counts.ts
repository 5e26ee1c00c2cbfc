import type { Backend } from '../../src/backend/backend.ts';
import { Repository } from '../../src/repository/repository.ts';

/** Writes a filter image, sound in itself, that counts one reference too many of a live chunk or of a dead one. */
export async function spoilCounts(backend: Backend, which: 'live' | 'dead'): Promise<void> {
  const repository = await Repository.open({ backend, mode: 'exclusive' });
  try {
    const { state } = await repository.openState();
    let chosen = -1;
    state.filter.forEachEntry((entry, isLive) => {
      if (isLive === (which === 'live') && chosen < 0) chosen = entry;
    });
    state.filter.retain(chosen);
    await repository.writeCheckpoint(state);
  } finally {
    await repository.close();
  }
}
