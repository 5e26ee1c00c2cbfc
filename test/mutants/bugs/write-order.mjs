const ORDER = 'core/repository/durable-order.ts';
const OTHERS = 'core/repository/groups/settle-others.ts';
const FILES = 'core/backend/file-system-backend.ts';
const UNSYNCED = ['core/repository/groups/settle-others', 'integration/unsynced-names'];
const SETTLED = "['filter', 'manifests.bak', 'index', 'deleted', 'snapshots', 'deleted']";

export const bugs = [
  {
    id: 'WO1',
    file: ORDER,
    find: '    await settleRemoved(this.#backend);\n',
    replace: '',
    tests: UNSYNCED,
    note: 'after a power cut, a deleted snapshot is back without its packs',
  },
  {
    id: 'WO2',
    file: OTHERS,
    find: SETTLED,
    replace: "['filter', 'manifests.bak', 'index', 'snapshots']",
    tests: UNSYNCED,
    note: 'the new name of a deleted snapshot is not made durable before its packs are removed',
  },
  {
    id: 'WO3',
    file: OTHERS,
    find: SETTLED,
    replace: "['filter', 'manifests.bak', 'index', 'deleted']",
    tests: UNSYNCED,
    note: 'after a power cut, a deleted snapshot has its old name besides the new one, without its packs',
  },
  {
    id: 'WO4',
    file: OTHERS,
    find: SETTLED,
    replace: "['filter', 'manifests.bak', 'deleted', 'snapshots', 'deleted']",
    tests: UNSYNCED,
    note: 'on a full disk, a segment comes back that lists removed packs',
  },
  {
    id: 'WO5',
    file: OTHERS,
    find: SETTLED,
    replace: "['filter', 'index', 'deleted', 'snapshots', 'deleted']",
    tests: UNSYNCED,
    note: 'the copy of a manifest comes back without the manifest: the snapshot looks lost',
  },
  {
    id: 'WO6',
    file: OTHERS,
    find: SETTLED,
    replace: "['manifests.bak', 'index', 'deleted', 'snapshots', 'deleted']",
    tests: UNSYNCED,
    note: 'on a full disk, a checkpoint comes back to which a reclaimed snapshot is lost',
  },
  {
    id: 'WO7',
    file: OTHERS,
    find: "['index', 'snapshots']",
    replace: "['snapshots']",
    tests: UNSYNCED,
    note: 'a checkpoint relies on a segment that a power cut takes away',
  },
  {
    id: 'WO8',
    file: OTHERS,
    find: "['index', 'snapshots']",
    replace: "['index']",
    tests: UNSYNCED,
    note: 'a checkpoint relies on a snapshot that a power cut takes away',
  },
  {
    id: 'WO9',
    file: ORDER,
    find: 'afterSettling(this.#backend, verify)',
    replace: 'verify',
    tests: UNSYNCED,
    note: 'a snapshot relies on the segment of a killed backup, which a power cut takes away',
  },
  {
    id: 'WO10',
    file: ORDER,
    find: '    if (areReplaced) await settleSeen(this.#backend);\n',
    replace: '',
    tests: UNSYNCED,
    note: 'a manifest is deleted though the one in its place may vanish in a power cut',
  },
  {
    id: 'WO11',
    file: ORDER,
    find: `    await settleRemoved(this.#backend);
    if (prepared === undefined) return;
`,
    replace: `    if (prepared === undefined) return;
    await settleRemoved(this.#backend);
`,
    tests: UNSYNCED,
    note: 'a compaction that condemns nothing removes manifests whose copies may come back',
  },
  {
    id: 'WO12',
    file: ORDER,
    find: `    await file.publish(name, before, isNew, this.isFar ? last.begin : undefined);
    await this.#backend.barrier();
`,
    replace: `    await file.publish(name, before, isNew, this.isFar ? last.begin : undefined);
`,
    tests: ['core/repository/durable-order', 'integration/removal-order'],
    note: 'files are removed though the list of them may vanish if the machine with the disk loses power',
  },
  {
    id: 'WO13',
    file: ORDER,
    find: `    await this.#backend.barrier();
    const bytes = this.#seals.seal('segments'`,
    replace: `    const bytes = this.#seals.seal('segments'`,
    tests: ['integration/power-cut'],
    note: 'after a power cut, a segment lists packs that are not there',
  },
  {
    id: 'WO14',
    file: ORDER,
    find: `      // Also after a failure: a compaction by another process would rely on the names that were moved.
      await this.#backend.barrier();
`,
    replace: '',
    tests: ['integration/power-cut'],
    note: 'a power cut brings back a snapshot that was reported as deleted',
  },
  {
    id: 'WO15',
    file: FILES,
    find: '    if (!this.isFar) this.#markUnsynced(directoryOf(source));\n',
    replace: '',
    tests: ['integration/power-cut', 'core/backend/file-system-backend'],
    note: 'after a power cut, a file that was moved has its old name, too',
  },
  {
    id: 'WO16',
    file: 'core/removing/compaction.ts',
    find: `    await removal.removeFiles({ records, copies: this.#copiesGivenUp(), after });
    const [temporary] = await bothOf(files.list('tmp'), removal.end(this.#earlier?.ids));
`,
    replace: `    const [temporary] = await bothOf(files.list('tmp'), removal.end(this.#earlier?.ids));
    await removal.removeFiles({ records, copies: this.#copiesGivenUp(), after });
`,
    tests: ['integration/woken-compaction', 'integration/removal-order'],
    note: 'a compaction that slept removes what a backup found meanwhile, which no condemnation lists any more',
  },
  {
    id: 'WO17',
    file: ORDER,
    find: `        restored.push(id);
      }
      await this.#backend.barrier();
`,
    replace: `        restored.push(id);
      }
`,
    tests: ['integration/power-cut'],
    note: 'a power cut takes away a snapshot that was reported as brought back',
  },
  {
    id: 'WO60',
    file: 'core/saving/relied-packs.ts',
    find: '      areThere = this.#earlierNames.every((name) => sizes.has(name));',
    replace: '      areThere = true;',
    tests: ['core/saving/parent-reliance'],
    note: 'a backup relies on a parent that is gone, with its packs',
  },
  {
    id: 'WO61',
    file: 'core/saving/commit-snapshots.ts',
    find: 'await bothOf(chunks.indexing, repository.assertLocked());',
    replace: 'await repository.assertLocked();',
    tests: ['core/saving/last-segment'],
    note: 'a snapshot is committed before the last segment that lists its chunks',
  },
  {
    id: 'WO62',
    file: 'core/saving/commit-snapshots.ts',
    find: 'await bothOf(chunks.indexing, repository.assertLocked());',
    replace: 'await chunks.indexing;',
    tests: ['core/saving/last-segment'],
    note: 'a snapshot is committed although the lock went while the last segment was published',
  },
];
