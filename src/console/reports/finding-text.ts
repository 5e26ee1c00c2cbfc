import {
  condemnationName,
  deletedName,
  keyName,
  manifestCopyName,
  packName,
  segmentName,
  snapshotName,
} from '../../core/format/layout.ts';
import { countNoun, formatCount } from '../output/words.ts';
import { describeOlderState } from './older-state-text.ts';
import type { Disagreement, Finding, Impact, PackProblem } from '../../core/session/findings.ts';

/** Returns the file of the repository that a finding is about. */
export function fileOf(finding: Finding): string | undefined {
  switch (finding.kind) {
    case 'config-damaged':
    case 'config-outdated':
    case 'checkpoint-damaged':
    case 'commit-damaged':
    case 'realm-damaged':
    case 'realm-missing':
    case 'hold-note-damaged':
    case 'reference-count':
    case 'file-misplaced':
    case 'metadata-damaged':
      return finding.name;
    case 'snapshot-damaged':
    case 'snapshot-lost':
    case 'hold-damaged':
      return snapshotName(finding.snapshotId);
    case 'deleted-snapshot-damaged':
      return deletedName(finding.snapshotId);
    case 'snapshot-copy-damaged':
      return manifestCopyName(finding.snapshotId);
    case 'segment-damaged':
    case 'segment-missing':
      return segmentName(finding.segmentId);
    case 'key-damaged':
    case 'key-unused':
      return keyName(finding.keyId);
    case 'condemnation-damaged':
      return condemnationName(finding.condemnationId);
    case 'pack-damaged':
    case 'pack-missing':
    case 'copy-damaged':
      return packName(finding.packId);
    default:
      return undefined;
  }
}

/** Returns what is wrong, as a sentence. */
export function messageOf(finding: Finding): string {
  switch (finding.kind) {
    case 'pack-damaged':
    case 'pack-missing':
      return finding.problems.map((problem) => describeProblem(problem)).join('; ');
    case 'copy-damaged': {
      const problems = finding.problems.map((problem) => describeProblem(problem)).join('; ');
      return `its copy in the group ${finding.group} is damaged, another one is sound: ${problems}`;
    }
    case 'copies-missing':
      return `${countNoun(finding.packCount, 'pack')} in fewer groups than wanted, such as ${finding.exampleId}; \`ldm group rebalance\` copies them if enough groups have room`;
    case 'metadata-outdated': {
      const problem = finding.state === 'none' ? 'has no copies' : 'lacks copies of a part';
      return `the group ${finding.group} ${problem} of the configuration, snapshots and index; the next command that changes something makes them, such as \`ldm group rebalance\``;
    }
    case 'metadata-damaged':
      return `its copy in the group ${finding.group} is damaged: ${finding.reason}`;
    case 'packs-missing':
      return 'there are snapshots, but no packs: the directory packs is missing or empty';
    case 'config-outdated':
      return 'a rotation of the master key was interrupted before it replaced this file; `ldm repair` or another rotation replaces it';
    case 'segment-missing':
      return 'missing; `ldm repair` rebuilds it from the packs';
    case 'snapshot-lost':
      return LOST[finding.outlook];
    case 'reference-count': {
      const examples = finding.differences.map((difference) => `${difference.chunkId} ${describe(difference)}`);
      return `${countNoun(finding.differenceCount, 'chunk')} ${finding.differenceCount === 1 ? 'differs' : 'differ'} from the recount: ${examples.join('; ')}`;
    }
    case 'chunk-missing':
      return finding.chunkCount === 1
        ? `1 chunk that snapshots need is missing or unreadable: ${finding.exampleId}`
        : `${formatCount(finding.chunkCount)} chunks that snapshots need are missing or unreadable, such as ${finding.exampleId}`;
    case 'key-damaged':
      return finding.isUnread
        ? `${finding.reason}; until it can be read, its password opens nothing`
        : `${finding.reason}; its password opens nothing any more, and \`ldm key remove\` removes the file`;
    case 'key-unused':
      return 'its password does not open the repository: it is left from a rotation of the master key that was interrupted. Another rotation removes it, or `ldm key remove`';
    case 'older-state':
      return describeOlderState(finding);
    case 'lender-unreachable':
      return `it is not known whether the domain ${finding.name} still keeps the chunks that snapshots need: ${finding.reason}`;
    case 'realm-damaged':
      return `${finding.reason}; ${REJOIN}`;
    case 'realm-missing':
      return `the membership in the realm is missing, although domains rely on each other; ${REJOIN}`;
    case 'hold-missing':
      return `the domain ${finding.name} does not keep ${countNoun(finding.holdCount, 'hold')} that snapshots need: it may remove their chunks; \`ldm adopt\` copies them to this repository`;
    case 'hold-damaged':
      return `what is held for the domain ${finding.name} cannot be read: ${finding.reason}; no space is reclaimed until \`ldm adopt\` there has copied the data and ended the hold`;
    case 'hold-note-damaged':
      return `${finding.reason}: this repository cannot end that hold. \`ldm adopt\` and \`ldm realm leave\` here, then \`ldm realm forget DOMAIN --release-holds\` in the domain end it; after another \`ldm realm join\`, \`ldm compact\` removes the file`;
    case 'borrowed-chunk-missing':
      return `the domain ${finding.name} has lost ${countNoun(finding.chunkCount, 'chunk')} that snapshots need, such as ${finding.exampleId}`;
    case 'borrowed-chunk-unreadable':
      return `${countNoun(finding.chunkCount, 'chunk')} that snapshots need and another domain keeps cannot be read, such as: ${finding.reason}`;
    case 'file-misplaced':
      return 'it has the name of a file of another directory, and is ignored: move it to where it was, or away';
    case 'file-size':
      return 'the sizes of files differ from those of their chunks; a new backup stores these files again';
    default:
      return finding.reason;
  }
}

/** Returns the affected snapshots and files, as far as they are known. */
export function impactOf(finding: Finding): Partial<Impact> {
  if ('impact' in finding) return finding.impact ?? {};
  if (finding.kind === 'older-state') return { snapshots: finding.snapshots.map(({ id }) => id) };
  const { kind } = finding;
  const isOfSnapshot = kind === 'snapshot-damaged' || kind === 'snapshot-lost' || kind === 'hold-damaged';
  return isOfSnapshot ? { snapshots: [finding.snapshotId] } : {};
}

const REJOIN = '`ldm realm join` with the same coordinator and name writes it again, and nothing else is lost';
const GONE = 'the manifest is missing although the snapshot was not deleted';

const LOST = {
  repairable: `${GONE}; \`ldm repair\` can restore it`,
  'copy-damaged': `${GONE}; its copy cannot be read either`,
  unrepairable:
    'lost: neither its manifest nor a copy of it can be read. What was damaged is in quarantine/; what may not be read now is where it was',
  gone: `${GONE}, and there is no copy. If an older state of the repository was put in its place, put the newer one back; \`ldm compact --forget-lost\` gives the snapshot up`,
};

function describeProblem(problem: PackProblem): string {
  switch (problem.kind) {
    case 'missing':
      return 'it is missing';
    case 'size':
      return `it has ${problem.foundBytes} bytes instead of ${problem.expectedBytes}`;
    case 'footer-differs':
      return 'its footer differs from the segment';
    case 'header-or-footer-differs':
      return 'its header or footer differs from the segment';
    case 'digest-differs':
      return 'its content has changed: its digest differs from its name';
    case 'footer-unreadable':
      return 'its footer cannot be read, and no readable segment lists it';
    case 'unreadable':
      return problem.reason;
    case 'block-unreadable':
      return `the block at offset ${problem.blockOffset} cannot be read: ${problem.reason}`;
    default:
      return `${countNoun(problem.chunkCount, 'chunk')} in the block at offset ${problem.blockOffset} ${problem.chunkCount === 1 ? 'has' : 'have'} wrong content`;
  }
}

function describe(difference: Disagreement): string {
  switch (difference.kind) {
    case 'not-in-filter':
      return 'is not in the filter';
    case 'in-no-segment':
      return 'is in the filter but in no segment';
    case 'two-locations':
      return 'has two different locations';
    default:
      return `has ${countNoun(difference.inFilter, 'reference')} in the filter, ${difference.recounted} by recount`;
  }
}
