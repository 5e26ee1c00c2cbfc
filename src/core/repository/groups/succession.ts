import { RefusedError } from '../../errors.ts';
import type { MetadataState } from '../../format/metadata-state.ts';
import { recoveriesIn } from '../../format/recoveries.ts';

/**
 * Of two places that share groups, one would remove what only the other one knows. A repository that was made again from
 * its groups lists each time when that was done, and so do its copies in the groups. The list in a copy must be the
 * beginning of that in the place of the repository: else another place was made of the groups since, and is in use. If it
 * is only the beginning, the copy must be as old as what the repository was made of: else the lost place is still in use.
 * @throws RefusedError
 */
export function assertSuccessor(
  own: { readonly location: string; readonly files: ReadonlyMap<string, Uint8Array> },
  states: readonly MetadataState[],
): void {
  const recoveries = recoveriesIn(own.files);
  for (const state of states) {
    const found = recoveriesIn(state.files);
    const other = found.find(({ id }, index) => recoveries[index]?.id !== id);
    if (other !== undefined) {
      throw new RefusedError(
        `${own.location} must not be used any more: the repository was made again from its groups at ${other.place}, and changed there`,
        { advice: { code: 'use-recovered', subject: other.place } },
      );
    }
    const later = recoveries.slice(found.length);
    if (later.length > 0 && later.every(({ number = Infinity }) => state.number > number)) {
      throw new RefusedError(
        `the repository was changed at the place where it was before, after it was made again at ${later[0]!.place}`,
        { advice: { code: 'recover-again' } },
      );
    }
  }
}
