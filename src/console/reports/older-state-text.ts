import type { OlderState } from '../../core/session/memory.ts';
import type { StayingPacks } from '../../core/session/notices.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatTime } from '../../core/util/format-time.ts';
import { countNoun, shortId } from '../output/words.ts';

/** Says what is missing, and what the reasons can be. */
export function describeOlderState({ snapshots, generations }: OlderState): string {
  const [example] = snapshots;
  const older = generations && `its newest checkpoint has the number ${generations.found}, after ${generations.seen}`;
  if (example === undefined) return `the repository is older than this machine has seen it: ${older}; ${REASONS}`;
  const time = example.time === undefined ? '' : ` of ${formatTime(example.time)}`;
  const gone = `${countNoun(snapshots.length, 'snapshot')} that this machine has seen ${snapshots.length === 1 ? 'is' : 'are'} gone, such as ${shortId(example.id)}${time}`;
  return `${gone}${older === undefined ? '' : `, and ${older}`}: ${REASONS}`;
}

/** Says which packs a compaction has left, why, until when, and how to remove them. */
export function describeStayingPacks({ packIds, packBytes, until, isAllKept }: StayingPacks): string {
  const packs = `${countNoun(packIds.size, 'pack')} (${formatBytes(packBytes)})`;
  const stay = packIds.size === 1 ? 'stays' : 'stay';
  const end = until === undefined ? stay : `${stay} until ${formatTime(until)}`;
  return `${packs} that no snapshot needs and that this machine has not written ${end}: an interrupted backup may have left them, or an older state of the repository was put in its place and a newer snapshot needs them.${isAllKept ? ' Until then, no pack is removed, since that snapshot may also need other ones.' : ''} If \`ldm snapshots\` lists everything that you expect, \`ldm compact --accept-older-state\` removes what is not needed now`;
}

const REASONS = 'an older state of the repository was put in its place, or the listings of the server lag behind';
