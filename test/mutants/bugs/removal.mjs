export const bugs = [
  {
    id: 'D1',
    file: 'core/removing/removal.ts',
    find: 'if (this.#knownSnapshotIds.has(id)) continue;',
    replace: 'continue;',
    tests: ['core/removing/compact-refusal'],
    note: 'the snapshot of a process that was suspended loses its packs',
  },
  {
    id: 'D2',
    file: 'core/removing/removal.ts',
    find: `await this.#removeAll(segmentIds, segmentName, damaged, async (id) =>
      order.quarantine(segmentName(id), assertLocked),
    );
    await this.#removeAll(packIds, packName, damaged, async (id) => quarantinePack(this.#repository, id));`,
    replace: `await this.#removeAll(packIds, packName, damaged, async (id) => quarantinePack(this.#repository, id));
    await this.#removeAll(segmentIds, segmentName, damaged, async (id) =>
      order.quarantine(segmentName(id), assertLocked),
    );`,
    tests: ['integration/removal-order'],
    note: 'packs go before the segments that name them: an interruption leaves chunks without data',
  },
  {
    id: 'D3',
    file: 'core/removing/compaction.ts',
    find: `    await verifyKeptCopies(this.#repository, this.#opened, condemned);
`,
    replace: '',
    tests: ['integration/twin-copies', 'core/removing/live-copier'],
    note: 'of two copies of a pack the good one is removed without a look at the other',
  },
  {
    id: 'D4',
    file: 'core/removing/kept-copies.ts',
    find: `  for await (const [, reading] of files.prefetch(left, readSound)) {
    const pack = await reading;
    if (pack !== undefined) visit(pack);
  }
`,
    replace: '',
    tests: ['integration/twin-copies'],
    note: 'copies in packs without a segment are not looked at before others are removed',
  },
  {
    id: 'D5',
    file: 'core/removing/removal.ts',
    find: 'if (!segmentIds.every((id) => known.has(id))) return;',
    replace: '',
    tests: ['integration/compact-full'],
    note: 'copies are removed though the segment that needs them may be there',
  },
  {
    id: 'D6',
    file: 'core/removing/compaction-guard.ts',
    find: 'return checkpoint === undefined && snapshotIds',
    replace: 'return false && snapshotIds',
    tests: ['core/removing/compact-refusal'],
    note: 'if all snapshots are lost, all chunks are taken for garbage',
  },
  {
    id: 'D7',
    file: 'core/removing/compaction.ts',
    find: 'this.#opened.state.isComplete && !isNeeded ? condemned',
    replace: 'this.#opened.state.isComplete ? condemned',
    tests: ['integration/condemned'],
    note: 'on a full disk, condemned packs are removed with chunks that are in use',
  },
  {
    id: 'D8',
    file: 'core/removing/compact.ts',
    find: 'staying: staying?.packIds }',
    replace: 'staying: undefined }',
    tests: ['core/removing/unindexed-packs'],
    note: 'the packs of today go if they are beside the small files of yesterday',
  },
  {
    id: 'D9',
    file: 'core/removing/unindexed-packs.ts',
    find: 'const others = ids.filter((id) => written?.has(id) !== true);',
    replace: 'const others = ids;',
    tests: ['core/removing/unindexed-packs'],
    note: 'what a backup of this machine has left stays for a week',
  },
  {
    id: 'D10',
    file: 'core/removing/unindexed-packs.ts',
    find: 'modifiedMs <= 0 || modifiedMs > nowMs + PRECISION_MS',
    replace: 'false',
    tests: ['core/removing/unindexed-packs'],
    note: 'a pack with a time that says nothing counts as old, or as written since',
  },
  {
    id: 'D11',
    file: 'core/session/repository-watch.ts',
    find: 'firstSeen !== undefined && firstSeen > now ? now : firstSeen',
    replace: 'firstSeen',
    tests: ['core/removing/unindexed-packs'],
    note: 'packs stay for years if the clock was ahead when the machine first saw the repository',
  },
  {
    id: 'D12',
    file: 'console/repository-memory.ts',
    find: '...(firstSeen === undefined ? {} : { first_seen: firstSeen }),',
    replace: '',
    tests: ['core/removing/unindexed-packs'],
    note: 'a machine does not know that the repository is new to it',
  },
];
