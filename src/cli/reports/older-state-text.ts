import type { OlderState } from '../../operations/repository-memory.ts';
import { formatTime } from '../../util/format-time.ts';
import { countNoun, shortId } from '../words.ts';

/** Says what is missing, and what the reasons can be: often only the user knows whether somebody else has deleted it. */
export function describeOlderState({ snapshots, generations, isCertain }: OlderState): string {
  const [example] = snapshots;
  const older = generations && `its newest checkpoint has the number ${generations.found}, after ${generations.seen}`;
  if (example === undefined)
    return `the repository is older than this machine has seen it: ${older}; ${reasons('it was repaired', isCertain)}`;
  const time = example.time === undefined ? '' : ` of ${formatTime(example.time)}`;
  const gone = `${countNoun(snapshots.length, 'snapshot')} that this machine has seen ${snapshots.length === 1 ? 'is' : 'are'} gone, such as ${shortId(example.id)}${time}`;
  const deleted = snapshots.length === 1 ? 'it was deleted' : 'they were deleted';
  return `${gone}${older === undefined ? '' : `, and ${older}`}: ${reasons(deleted, isCertain)}`;
}

function reasons(done: string, isCertain: boolean): string {
  return isCertain
    ? 'an older state of the repository was put in its place, or the listings of the server lag behind'
    : `${done} from another machine, or an older state of the repository was put in its place`;
}
