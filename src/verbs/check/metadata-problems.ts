import { createHash } from 'node:crypto';
import type { Repository } from '../../core/repository/repository.ts';
import type { Finding } from '../../core/session/findings.ts';
import { packSelector } from '../../core/damage/pack-selector.ts';
import type { ReadData } from '../../core/damage/pack-selector.ts';

/**
 * Reports groups whose copies of the metadata lack something, and copies that are damaged: of commit records always, of
 * other files with `readData`. Of a part of the data, the names decide which copies are read.
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
  const damaged = await groups.damagedMetadata(readData === undefined ? () => false : selectorOf(readData));
  return [
    ...outdated,
    ...damaged.map(({ group, name, reason }): Finding => {
      return { severity: 'error', kind: 'metadata-damaged', group: group.entry.name, name, reason };
    }),
  ];
}

function selectorOf(readData: ReadData): (name: string) => boolean {
  const isPart = readData !== true && 'part' in readData;
  const isChosen = packSelector(isPart ? readData : true, new Map());
  return (name) => isChosen(createHash('sha256').update(name).digest('hex'));
}
