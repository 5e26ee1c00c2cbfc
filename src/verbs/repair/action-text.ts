import {
  condemnationName,
  deletedName,
  manifestCopyName,
  packName,
  segmentName,
  snapshotName,
} from '../../core/format/layout.ts';
import type { RepairAction } from './repair.ts';
import { countNoun } from '../../console/output/words.ts';

/** What a repair does, in the infinitive, and the file of the repository that it does it to. */
interface ActionText {
  readonly file?: string;
  readonly message: string;
}

export function describeAction(action: RepairAction): ActionText {
  switch (action.kind) {
    case 'config-rewritten':
      return about(action.name, (file) => `rewrite ${file} from ${action.from}, and set the damaged file aside`);
    case 'config-updated':
      return about(action.name, (file) => `replace ${file}, which is from before the last rotation of the master key`);
    case 'snapshot-rewritten':
      return about(snapshotName(action.snapshotId), (file) => `write ${file} again from its copy or a checkpoint`);
    case 'snapshot-quarantined': {
      const loss = action.isRewritten ? '' : '; the snapshot is lost, because no copy of this file can be read';
      return about(snapshotName(action.snapshotId), (file) => setAside(file) + loss);
    }
    case 'deleted-snapshot-quarantined':
      return about(deletedName(action.snapshotId), (file) => setAside(file) + (action.isRewritten ? AGAIN : ''));
    case 'snapshot-copy-quarantined':
      return about(manifestCopyName(action.snapshotId), (file) => setAside(file) + (action.isRewritten ? AGAIN : ''));
    case 'condemnation-quarantined':
      return about(condemnationName(action.condemnationId), setAside);
    case 'commit-quarantined':
      return about(action.name, setAside);
    case 'commits-rewritten':
      return { message: 'write a new record of the snapshots that were committed' };
    case 'segment-quarantined':
      return about(segmentName(action.segmentId), setAside);
    case 'segment-replaced':
      return about(segmentName(action.segmentId), (file) => `remove ${file}, which the new segment replaces`);
    case 'pack-quarantined':
      return about(packName(action.packId), (file) => `${setAside(file)}; its readable chunks are in new packs`);
    case 'copy-quarantined':
      return about(
        packName(action.packId),
        (file) => `set aside the damaged copy of ${file} in the group ${action.group}`,
      );
    case 'copies-made':
      return { message: `make the missing copies of ${countNoun(action.packCount, 'pack')} from sound ones` };
    case 'metadata-rewritten':
      return {
        message: `write ${countNoun(action.fileCount, 'damaged copy')} of small files in the group ${action.group} again`,
      };
    case 'checkpoint-removed':
      return about(action.name, (file) => `remove ${file}, a checkpoint that lists replaced segments`);
    case 'checkpoint-quarantined':
      return about(action.name, (file) => `set aside ${file}, a checkpoint that is damaged or wrong`);
    case 'realm-quarantined':
      return about(action.name, (file) => `${setAside(file)}; the repository can join its realm again`);
    case 'segment-rebuilt':
      return { message: describeRebuild(action) };
    case 'condemned':
      return { message: 'list in condemned/ what is replaced, so that no other command relies on it' };
    case 'condemnation-removed':
      return { message: 'remove the list in condemned/' };
    default:
      return { message: 'write a new checkpoint from the segments and snapshots' };
  }
}

function about(file: string, messageFor: (file: string) => string): ActionText {
  return { file, message: messageFor(file) };
}

const AGAIN = ', and write it again';

function setAside(file: string): string {
  return `set aside ${file}, which is damaged`;
}

type Rebuild = Extract<RepairAction, { readonly kind: 'segment-rebuilt' }>;

function describeRebuild({ intactPacks, copiedPacks, damagedPacks, missingPacks }: Rebuild): string {
  const readable = damagedPacks > 0 ? ` and copies of what is readable in ${countPacks(damagedPacks, 'damaged')}` : '';
  const needed = copiedPacks > 0 ? ` and copies of what is needed of ${countPacks(copiedPacks, 'other')}` : '';
  const lack = missingPacks > 0 ? `; ${countPacks(missingPacks, 'missing')}` : '';
  return `write a new segment that lists ${countPacks(intactPacks, 'intact')}${readable}${needed}${lack}`;
}

/** Without separators in the number: scripts have always read it so. */
function countPacks(count: number, state: string): string {
  return `${count} ${state} ${count === 1 ? 'pack' : 'packs'}`;
}
