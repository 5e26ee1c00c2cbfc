import { isDamage } from '../../core/errors.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { Finding, FindingOf } from '../../core/session/findings.ts';
import { findDamagedNotes } from './placed-holds.ts';

/**
 * Finds the holds whose list of chunks cannot be read, so that it is not known what they keep. The list of a hold is a tree
 * without directories below it.
 */
export async function findDamagedHolds(
  { files }: Pick<Repository, 'files'>,
  { reader }: Pick<OpenedState, 'reader'>,
): Promise<FindingOf<'hold-damaged'>[]> {
  const findings: FindingOf<'hold-damaged'>[] = [];
  const { listings } = await files.readSnapshots();
  for (const { id, snapshot } of listings) {
    if (snapshot.hold === undefined) continue;
    try {
      await reader.read(Buffer.from(snapshot.tree, 'hex'), 0);
    } catch (error) {
      if (!isDamage(error)) throw error;
      const { name } = snapshot.hold;
      findings.push({ severity: 'error', kind: 'hold-damaged', snapshotId: id, name, reason: error.message });
    }
  }
  return findings;
}

/** Finds what is damaged of the holds here, for other domains, and of the notes about holds of this domain elsewhere. */
export async function findHoldProblems(
  repository: Pick<Repository, 'files'>,
  opened: Pick<OpenedState, 'reader'>,
): Promise<Finding[]> {
  return [...(await findDamagedHolds(repository, opened)), ...(await findDamagedNotes(repository))];
}
