import { createHash } from 'node:crypto';
import type { Repository } from '../../core/repository/repository.ts';
import type { Finding } from '../../core/session/findings.ts';
import { packSelector } from '../../core/damage/pack-selector.ts';
import type { ReadData } from '../../core/damage/pack-selector.ts';

/**
 * Reports groups whose copies of the metadata lack something, and with `readData` the copies that are damaged. Of a part of
 * the data, the names decide which copies are read.
 */
export async function findMetadataProblems(
  { groups }: Pick<Repository, 'groups'>,
  readData: ReadData | undefined,
): Promise<Finding[]> {
  if (groups === undefined || groups.rules.copies === 1) return [];
  const states = await groups.metadataStates();
  const outdated = groups.all.flatMap(({ id, entry }): Finding[] => {
    const state = states.get(id);
    if (state === undefined || state === 'current') return [];
    return [{ severity: 'warning', kind: 'metadata-outdated', group: entry.name, state }];
  });
  if (readData === undefined) return outdated;
  const isPart = readData !== true && 'part' in readData;
  const isChosen = packSelector(isPart ? readData : true, new Map());
  const damaged = await groups.damagedMetadata((name) => isChosen(createHash('sha256').update(name).digest('hex')));
  return [
    ...outdated,
    ...damaged.map(({ group, name, reason }): Finding => {
      return { severity: 'error', kind: 'metadata-damaged', group: group.entry.name, name, reason };
    }),
  ];
}
