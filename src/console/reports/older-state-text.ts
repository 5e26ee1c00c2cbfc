import type { OlderState } from '../../core/session/memory.ts';
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

const REASONS = 'an older state of the repository was put in its place, or the listings of the server lag behind';
