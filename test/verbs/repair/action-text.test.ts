import { expect, test } from 'vitest';

import { describeAction } from '../../../src/verbs/repair/action-text.ts';
import type { RepairAction } from '../../../src/verbs/repair/repair.ts';

const id = 'ab'.repeat(32);
const CHECKPOINT = 'filter/000000000001';

/** Scripts may rely on the file, and people on the text. */
const ACTIONS: ReadonlyArray<[RepairAction, string | undefined, string]> = [
  [
    { kind: 'config-rewritten', name: 'config', from: 'config.bak' },
    'config',
    'rewrite config from config.bak, and set the damaged file aside',
  ],
  [
    { kind: 'snapshot-rewritten', snapshotId: id },
    `snapshots/${id}`,
    `write snapshots/${id} again from its copy or a checkpoint`,
  ],
  [
    { kind: 'snapshot-quarantined', snapshotId: id, isRewritten: true },
    `snapshots/${id}`,
    `set aside snapshots/${id}, which is damaged`,
  ],
  [
    { kind: 'snapshot-quarantined', snapshotId: id, isRewritten: false },
    `snapshots/${id}`,
    `set aside snapshots/${id}, which is damaged; the snapshot is lost, because no copy of this file can be read`,
  ],
  [
    { kind: 'deleted-snapshot-quarantined', snapshotId: id, isRewritten: true },
    `deleted/${id}`,
    `set aside deleted/${id}, which is damaged, and write it again`,
  ],
  [
    { kind: 'snapshot-copy-quarantined', snapshotId: id, isRewritten: false },
    `manifests.bak/${id}`,
    `set aside manifests.bak/${id}, which is damaged`,
  ],
  [
    { kind: 'condemnation-quarantined', condemnationId: id },
    `condemned/${id}`,
    `set aside condemned/${id}, which is damaged`,
  ],
  [{ kind: 'segment-quarantined', segmentId: id }, `index/${id}`, `set aside index/${id}, which is damaged`],
  [{ kind: 'segment-replaced', segmentId: id }, `index/${id}`, `remove index/${id}, which the new segment replaces`],
  [
    { kind: 'pack-quarantined', packId: id },
    `packs/ab/${id}`,
    `set aside packs/ab/${id}, which is damaged; its readable chunks are in new packs`,
  ],
  [
    { kind: 'checkpoint-removed', name: CHECKPOINT },
    CHECKPOINT,
    `remove ${CHECKPOINT}, a checkpoint that lists replaced segments`,
  ],
  [
    { kind: 'checkpoint-quarantined', name: CHECKPOINT },
    CHECKPOINT,
    `set aside ${CHECKPOINT}, a checkpoint that is damaged or wrong`,
  ],
  [
    { kind: 'segment-rebuilt', intactPacks: 2000, copiedPacks: 2, damagedPacks: 1, missingPacks: 1, roomBytes: 9 },
    undefined,
    'write a new segment that lists 2000 intact packs and copies of what is readable in 1 damaged pack and copies of what is needed of 2 other packs; 1 missing pack',
  ],
  [
    { kind: 'segment-rebuilt', intactPacks: 1, copiedPacks: 0, damagedPacks: 0, missingPacks: 0, roomBytes: 0 },
    undefined,
    'write a new segment that lists 1 intact pack',
  ],
  [{ kind: 'condemned' }, undefined, 'list in condemned/ what is replaced, so that no other command relies on it'],
  [{ kind: 'condemnation-removed' }, undefined, 'remove the list in condemned/'],
  [{ kind: 'checkpoint-rewritten' }, undefined, 'write a new checkpoint from the segments and snapshots'],
];

test('every action has its file and its text', () => {
  for (const [action, file, message] of ACTIONS) {
    expect(describeAction(action)).toEqual({ message, ...(file === undefined ? {} : { file }) });
  }
});
